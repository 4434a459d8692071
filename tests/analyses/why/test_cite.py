"""`headscope why`: what it prints and writes, citations with a threshold, and a data set of prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.analyses.context_attribution import run
from headscope.analyses.context_attribution.run import context_attribution
from headscope.analyses.why import statistics
from headscope.analyses.why.cite import NONE, cite, cited, save
from tests.helpers import pages
from tests.helpers.small_models import save_llama
from tests.helpers.typed import Typed

TEXT = "The cat sat here. A dog ran. It was late."
ROWS: list[dict[str, Any]] = [
    {
        "prompt": TEXT,
        "answer": " It slept.",
        "spans": ["The cat sat here.", "A dog ran."],
        "source": 1,
        "kind": "one",
    },
    {"text": TEXT, "answer": " It slept.", "source": "dog", "document": "a"},
    {"text": TEXT, "answer": " A cat.", "spans": [[0, 17], [18, 28]], "source": [0, 1], "document": "a"},
    {"text": TEXT + " Then?"},
]
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48, "max_position_embeddings": 512}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_llama(tmp_path_factory.mktemp("writer") / "small", **SIZE)


@pytest.fixture(scope="module")
def writer(folder: Path) -> Any:
    return hs.load(folder)


def test_marks_and_their_threshold(writer: Any, tmp_path: Path) -> None:
    found = hs.why(writer, TEXT, " It slept. The dog sat.").copy(deep=True)
    found["masked"].values[:] = 1.0
    found["statement_masked"].values[:] = [[2.0, 3.0, -1.0], [0.5, 0.1, 4.0]]
    found["statement_q"].values[:] = [
        [0.01, 0.02, 0.0],
        [0.0, 0.0, 0.9],
    ]  # the two leave it half as likely or more
    assert [one.sources for one in cited(found)] == [(1, 0), ()]
    assert cite(found).split("\n") == [
        "It slept. [1] [2] The dog sat.",
        "",
        "[1] A dog ran.",
        "[2] The cat sat here.",
    ]
    assert cite(found, level=0.001).endswith(NONE)
    assert save(found, tmp_path / "cited.jsonl") == "2 statements with their sources"
    lines = [json.loads(line) for line in (tmp_path / "cited.jsonl").read_text().splitlines()]
    assert [one["span"] for one in lines[0]["sources"]] == [1, 0]
    assert TEXT[lines[0]["sources"][0]["start"] :].startswith("A dog ran.")
    assert lines[1] == {"statement": "The dog sat.", "sources": []}


@pytest.mark.slow
def test_what_speaks_against_an_answer_is_named(writer: Any) -> None:
    found = hs.why(writer, TEXT, " It slept.").copy(deep=True)
    found["masked"].values[:] = [-0.1, -2.0, -0.7]
    found["statement_q"].values[:] = 1.0
    assert cite(found).split("\n") == [
        "It slept.",
        "",
        NONE,
        "against it: A dog ran. (the answer gains 2.00 nats without it)",
        "against it: It was late. (the answer gains 0.70 nats without it)",
    ]


def test_cited_spans_and_marked_stretches_beside_what_is_right(writer: Any) -> None:
    answer = " It slept. The dog sat."
    found = hs.why(writer, TEXT, answer).copy(deep=True)
    found["masked"].values[:], found["q"].values[:] = [2.0, 1.0, 3.0], [0.01, 0.2, 0.04]
    found["lexical"].values[:] = [0.0, 0.5, 0.2]
    right = np.array([True, True, False])
    values = run._values(
        found, right
    )  # cites the first and the third; the words choose the second and the third
    assert values["cited_f1"] == values["lexical_f1"] == 2 * 1 / (2 + 2)
    found["lexical"].values[:] = [0.0, 0.5, 0.0]
    assert run._values(found, right)["lexical_f1"] == 2 * 1 / (1 + 2)
    ends = np.cumsum([len(text) for text in found["written"].values])
    start = answer.index("The dog")
    late = np.flatnonzero(ends > start)
    drops = found["drop"].values
    drops[:] = -5.0
    drops[0] = 1.0
    drops[1, late[0]], drops[0, late[1:]] = 2.0, 0.5  # of the stretch the first loses most by another span
    expected = (len(late) - 1) / len(late)
    assert run._supported(found, [(start, len(answer))]) == {"unsupported": expected}
    assert run._supported(found, None) == run._supported(found, [(0, len(answer))]) == {}


@pytest.mark.slow
def test_a_data_set(folder: Path, tmp_path: Path, typed: Typed) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    typed("why", str(path), "-m", str(folder), "--max-new-tokens", "4", "-o", str(tmp_path / "all.html"))
    figures, *shown = pages.payload((tmp_path / "all.html").read_text("utf-8"))["views"]
    assert [one["prompt"] for one in shown] == [TEXT] * 3
    whole = context_attribution(hs.load(folder), hs.corpora.prompts(path), max_new_tokens=4)
    rows = hs.table(whole).set_index(["kind", "figure"])
    assert rows.loc[("all", "context"), "n"] == 4
    assert rows.loc[("all", "masked_first"), "n"] == 3
    assert rows.loc[("one", "masked_first"), "n"] == 1
    assert rows.loc[("all", "masked_first"), "documents"] == 1.8  # of one and of two prompts
    assert "source at the end" in {*whole["kind"].values.tolist()}
    assert len(figures["rows"]) == len(rows)
    first = hs.why(hs.load(folder), TEXT, " It slept.", ROWS[0]["spans"])
    assert rows.loc[("one", "context"), "value"] == pytest.approx(float(first["context"]), abs=1e-5)
    shuffled = context_attribution(
        hs.load(folder), hs.corpora.prompts(path), max_new_tokens=4, shuffle=True, seed=1
    )
    moved = hs.table(shuffled).set_index(["kind", "figure"])
    swapped = "A dog ran. The cat sat here. It was late."
    first = hs.why(hs.load(folder), swapped, " It slept.", ["A dog ran.", "The cat sat here."])
    assert moved.loc[("one", "context"), "value"] == pytest.approx(float(first["context"]), abs=1e-5)
    assert [table.loc[("one", "source_place"), "value"] for table in (rows, moved)] == [1, 0]


@pytest.mark.slow
def test_rows_of_a_data_set(folder: Path, writer: Any, tmp_path: Path, typed: Typed) -> None:
    """A row a prompt and span, as `hs.why` has them of that prompt alone, and the sources of each statement."""
    more = {"documents": ["Anna sat. It was.", {"text": "A dog ran."}], "prompt": "Who ran?"}
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (*ROWS, {**more, "answer": " A dog ran."})))
    files = [tmp_path / name for name in ("rows.csv", "cited.jsonl", "figures.csv")]
    written = ("-o", files[0], "--cite", files[1], "--level", 0.99, "--figures", files[2])
    typed("why", path, "-m", folder, "--max-new-tokens", 4, *written)
    read: Any = pd.read_csv(files[0])
    inputs = read["input"].unique().tolist()
    assert tuple(read.columns) == ("input", *statistics.COLUMNS)
    assert inputs == [f"prompts.jsonl:{line}" for line in range(1, 6)]
    alone = hs.why(writer, TEXT, " A cat.", [(0, 17), (18, 28)]).table().sort_values("span")
    rows = read[read["input"] == inputs[2]].drop(columns="input")
    pd.testing.assert_frame_equal(
        rows.reset_index(drop=True).astype(alone.dtypes), alone.reset_index(drop=True), atol=1e-5
    )
    assert read["text"].tolist()[-2:] == ["Anna sat. It was.", "A dog ran."]
    said = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert list(dict.fromkeys(one["input"] for one in said)) == inputs
    assert [one["statement"] for one in said if one["input"] == inputs[2]] == ["A cat."]
    assert all(source["nats"] >= statistics.MATTERS for one in said for source in one["sources"])
    assert "all,masked_first," in files[2].read_text()


@pytest.mark.filterwarnings("default:left out 1 input")
def test_a_page_has_the_first_prompts_that_the_run_has(folder: Path, tmp_path: Path, typed: Typed) -> None:
    """What is too long is left out of both, and no more are shown than are asked for."""
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ({**ROWS[1], "text": TEXT * 100}, *ROWS[1:3])))
    written = ("-m", folder, "--limit", 1, "-o", tmp_path / "page.html")
    assert "page.html: a page" in typed("why", path, *written).err
    assert len(pages.payload((tmp_path / "page.html").read_text("utf-8"))["views"]) == 2
    assert " A cat." not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("exact", [3, "all"])
def test_the_agreement_of_a_data_set_is_over_all_spans(writer: Any, tmp_path: Path, exact: Any) -> None:
    """Those that the estimates put first say nothing of the others."""
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps({"text": TEXT, "answer": " It slept."}))
    found = context_attribution(writer, hs.corpora.prompts(path), spans="token", exact=exact).sel(kind="all")
    figures = ["warned", "agreement", "pearson", "screened"]
    assert found["n"].sel(figure=figures).values.tolist() == [exact == "all"] * 4


@pytest.mark.slow
def test_beside_another_model(folder: Path, writer: Any, tmp_path: Path, typed: Typed) -> None:
    """What a model makes of the context, less what another makes of it for the same answers."""
    other = save_llama(tmp_path / "other", **{**SIZE, "num_hidden_layers": 3})
    models = {"writer": writer, "other": hs.load(other)}
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS[:1] + ROWS[3:]))
    given = ("-m", folder, "--than", other, "--max-new-tokens", "3", "--figures", tmp_path / "figures.json")
    typed("why", path, *given)
    rows = json.loads((tmp_path / "figures.json").read_text())
    found = {row["figure"]: row for row in rows if row["kind"] == "one"}
    whole = {name: hs.why(model, TEXT, " It slept.", ROWS[0]["spans"]) for name, model in models.items()}
    a, b = (whole[name] for name in ("writer", "other"))
    assert abs(found["context_more"]["value"]) > 0.01
    for name in ("context", "log_probability"):
        assert found[f"{name}_more"]["value"] == pytest.approx(float(a[name] - b[name]), abs=1e-5)
    looked = float((a["attention"] - b["attention"]).sum())
    assert found["looked_more"]["value"] == pytest.approx(looked, abs=1e-6)
    assert {row["n"] for row in rows if row["figure"] == "context_more" and row["kind"] == "all"} == {2}
    same = context_attribution(writer, hs.corpora.prompts(path), max_new_tokens=3, than=writer)
    more = same["attributed"].sel(kind="all", figure=["context_more", "looked_more"])
    np.testing.assert_allclose(more, 0, atol=1e-5)
    talk = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": " It slept."}]
    ids = writer.encode(TEXT).ids.tolist()
    wrote = writer.encode(TEXT + " It ran.").ids.tolist()[len(ids) :]
    template = "{% for one in messages %}{{ one['content'] }} {% endfor %}"
    talker = hs.load(folder)
    talker.tokenizer.chat_template = template
    lines = [{"messages": talk}, {"prompt": ids, "token_ids": wrote}]
    same = context_attribution(
        talker, lines, than=talker
    )  # answers that stand in the prompt, and behind its ids
    assert abs(same["attributed"].sel(kind="all", figure="log_probability_more")) < 1e-5
    ran = hs.why(writer, TEXT, wrote)
    assert same["span_effect"].values[same["span_input"].values == "rows[1]"] == pytest.approx(
        ran["masked"].values, abs=1e-5
    )
