"""Every analysis that can be split: in three parts, and ended and gone on, it gives what one run gives to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.analyses import analyses
from headscope.analyses.composition import run as composition
from headscope.analyses.context_attribution import run as explaining
from headscope.analyses.distance import run as distance
from headscope.models import Model
from headscope.runs.checkpoint import Folder
from tests.analyses.test_reads import repeats
from tests.helpers.links_sample import RUNS
from tests.helpers.planted_alignment import recordings
from tests.helpers.planted_needles import HAY
from tests.helpers.run_sample import as_a_worker, bert, corpus, same
from tests.runs.test_steps import ended, needles, paired

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")]

Make = Callable[[Model, Model, Path], Callable[..., Any]]


def _on_links(name: str) -> Make:
    function, read, options = RUNS[name]
    return lambda demo, _, folder: lambda **more: function(demo, read(folder), **options, **more)


SPLIT: dict[str, Make] = {
    **{name: _on_links(name) for name in RUNS},
    "measure": lambda *_: partial(hs.measure, bert(), corpus(), measures=["previous", "entropy"]),
    "distance": lambda *_: partial(hs.distance, bert(), corpus(), batch_size=2),
    "composition": lambda _, planted, __: partial(hs.composition, planted, repeats(24)),
    "reads": lambda _, planted, __: partial(hs.reads, planted, repeats(9), "L1H0", of="induction", ablated=0),
    "context_attribution": lambda _, planted, folder: partial(
        explaining.context_attribution, planted, _prompts(folder / "prompts.jsonl")
    ),
    "retrieval": lambda _, planted, __: partial(needles, planted),
    "patching": lambda *_: partial(hs.patching, *paired(), exact=3, edges=2, curve=True, batch_size=1),
    "align": lambda *_: partial(hs.alignment_heads, *_speech()),
}


def _prompts(path: Path) -> hs.corpora.Corpus:
    words = HAY.split()
    rows = [{"prompt": f"{HAY} . {HAY}", "answer": words[number]} for number in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return hs.corpora.prompts(path)


def _speech() -> tuple[Model, hs.corpora.Corpus]:
    from tests.helpers.small_models import whisper_parts

    whisper = hs.load(whisper_parts(4))
    speech = recordings(whisper, 7)
    speech[3] = speech[3].but(times=[(0.0, 0.1)])
    return whisper, hs.corpora.Corpus("speech", lambda: iter(speech))


def test_each_is_tried() -> None:
    assert {*SPLIT} == {name for name, analysis in analyses().items() if analysis.merge}


@pytest.mark.parametrize("name", SPLIT)
def test_parts_and_a_run_that_went_on_are_one_run(
    name: str, demo: Model, planted: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "BLOCK", 1)
    for module in (composition, distance):
        monkeypatch.setattr(module, "BLOCK", 3)
        monkeypatch.setitem(vars(module.KIND), "span", 2)
    with as_a_worker(3, 300):
        run = SPLIT[name](demo, planted, tmp_path)
        whole = run()
        with ended(Folder, "keep", 2):
            run(resume=tmp_path / "run")
        same(run(resume=tmp_path / "run"), whole)
        parts = [tmp_path / f"{number}.nc" for number in (1, 2, 3)]
        run(shard="1/3", part=parts[0])
        with ended(Folder, "keep", 1):
            run(shard="3/3", part=parts[2], resume=tmp_path / "3")
        run(shard="3/3", part=parts[2], resume=tmp_path / "3")
        run(shard="2/3", part=parts[1])
        same(hs.merge(parts[::-1]), whole)
        assert not [*tmp_path.glob(".*")]
