"""What views, reports and `headscope.bertviz` refuse, and with which sentence: golden/views.txt."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import headscope as hs
from headscope import bertviz
from headscope.models import Model
from headscope.views import explorer
from tests.helpers import golden, heard_sample, perceived_reports, report_sample, seen_sample, talk_sample


@pytest.mark.slow
def test_what_cannot_be_shown(demo: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = hs.wrap(np.eye(2)[None, None], ["a", "b"])
    golden.refusals(
        "views.txt",
        hs=hs,
        np=np,
        torch=torch,
        bertviz=bertviz,
        explorer=explorer,
        perceived_reports=perceived_reports,
        report_sample=report_sample,
        seen_sample=seen_sample,
        talk_sample=talk_sample,
        SimpleNamespace=SimpleNamespace,
        demo=demo,
        vision=perceived_reports.vision(),
        text=text,
        ab=explorer.Input({"self": text}),
        heard=heard_sample.cross(),
        seen=seen_sample.random_maps(),
        talk=talk_sample.planted(talk_sample.axis()),
        attention=[torch.full((1, 4, 6, 6), 1 / 6)] * 2,
        TOKENS=["[CLS]", "a", "##s", "[SEP]", "b", "[SEP]"],
    )
