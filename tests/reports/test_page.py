from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headscope.core.heads import Head
from headscope.core.maps import wrap
from headscope.core.neurons import Neurons
from headscope.measures.dataset import interval_of, measure_names
from headscope.reports import page
from headscope.views.blobs import ArrayRef, Blobs, decode
from headscope.views.blocks import section as section_of
from headscope.views.explorer import Input
from headscope.views.page import cleaned, script_json
from headscope.views.payload import SectionInfo
from headscope.views.section import Section, SideBySide
from tests.helpers import section_blocks
from tests.helpers.pages import said, told
from tests.helpers.report_sample import NASTY, dataset, example, maps, report_payload


def section(payload: Any, kind: str) -> Any:
    return next(one for one in payload["sections"] if section_blocks.name_of(one) == kind)


def of_example(place: int, ref: ArrayRef, texts: dict[str, str]) -> Any:
    """An array of the example at a place: its blobs are named `place-name`."""
    return decode({**ref, "data": f"{place}-{ref['data']}"}, texts)


def test_every_figure_arrives():
    data = dataset()
    payload, texts = report_payload(data, [example()])
    names = [measure["name"] for measure in payload["measures"]]
    assert names == ["previous", "next", "first", "sep", "entropy", "entropy_first"]
    for place, name in enumerate(names):
        assert np.array_equal(decode(payload["value"], texts)[place], data[name])
        assert np.array_equal(decode(payload["error"], texts)[place], data[f"{name}_se"])
        assert np.array_equal(decode(payload["count"], texts)[place], data[f"{name}_n"])
        assert np.array_equal(decode(payload["chance"], texts)[place], data[f"{name}_chance"])
    assert payload["measures"][0]["source"] == "Clark et al. 2019, §3.1"
    assert payload["corpus"]["tokens"] == 52341
    (absent,) = section_blocks.rows(section(payload, "absent"), "measures")
    assert (absent["measure"], absent["reason"]) == ("offset+9", "no input is that long")
    assert json.loads(script_json(payload)) == cleaned(payload)


def test_captions_say_how_many_tokens_the_figures_are_means_over():
    def lead(data: xr.Dataset) -> str:
        return " ".join(section(report_payload(data)[0], "layers")["notes"])

    data = dataset()
    for name in ("previous", "next", "first", "sep"):
        data[f"{name}_n"] = data[f"{name}_n"] * 0 + 90
    assert "Means over 90 tokens of " in lead(data)
    data["next_n"] = data["next_n"] * 0 + 1234
    assert "Means over 90 to 1,234 tokens, by measure, of " in lead(data)


@pytest.mark.parametrize(
    ("by", "over", "said"),
    [
        ("segment", "pieces", "Means over 12,345 inputs."),
        ("document", "pieces", "Means over 12,345 documents of 413 inputs."),
        ("token", "words", "Means over 12,345 words of 413 inputs."),
    ],
)
def test_the_noun_of_what_figures_are_means_over_comes_with_their_number(by: str, over: str, said: str):
    data = dataset()
    for name in map(str, data.data_vars):
        data[name].attrs |= {"by": by, "over": over}
    assert said in section(report_payload(data)[0], "layers")["notes"]


def test_each_example_is_an_explorer_with_the_figures_of_the_corpus():
    found = [maps(), maps(pieces=list("abc"), seed=1)]
    data = dataset()
    payload, texts = report_payload(data, [Input({"self": one}) for one in found])
    assert [one["kind"] for one in payload["examples"]] == ["explorer", "explorer"]
    assert [one["model"] for one in payload["examples"]] == ["a-model", "a-model"]
    assert payload["examples"][0]["inputs"][0]["parts"][0]["query"]["pieces"] == NASTY
    for place, one in enumerate(found):
        (part,) = payload["examples"][place]["inputs"][0]["parts"]
        for ref, layer in zip(part["layers"], one.layers, strict=True):
            assert np.abs(of_example(place, ref, texts) - layer).max() < 0.004
        column = next(each for each in part["measures"] if each["name"] == "corpus:previous")
        assert np.allclose(of_example(place, column["values"], texts), data["previous"], atol=1e-6)
    payload, texts = report_payload(data, [example()], exact=True)
    (part,) = payload["examples"][0]["inputs"][0]["parts"]
    assert np.array_equal(of_example(0, part["layers"][1], texts), found[0].layers[1])


def test_sections_come_in_reading_order_and_empty_ones_are_left_out():
    payload, _ = report_payload(dataset())
    kinds = ["summary", "measures", "layers", "layers", "heads", "absent", "methods"]
    assert [section_blocks.name_of(one) for one in payload["sections"]] == kinds
    shares, others = (
        [
            names
            for block in section_blocks.every(one["blocks"])
            if block["kind"] == "chart"
            for names in block["measures"]
        ]
        for one in payload["sections"]
        if section_blocks.name_of(one) == "layers"
    )
    assert sorted(shares) == [["first"], ["next"], ["previous"], ["sep"]]
    assert others == [["entropy"], ["entropy_first"]]
    some = dataset(absent={})
    some = some.drop_vars([name for name in some.data_vars if str(name).startswith("entropy")])
    kinds = ["summary", "measures", "layers", "heads", "methods"]
    assert [section_blocks.name_of(one) for one in report_payload(some)[0]["sections"]] == kinds


def test_sections_take_turns_with_the_neurons_of_the_heads_they_name(monkeypatch: pytest.MonkeyPatch):
    class Names(Section):
        def __init__(self, *named: tuple[Head, int | str]) -> None:
            self.some = named

        def info(self, blobs: Blobs) -> None:
            return None

        def named(self) -> tuple[tuple[Head, int | str], ...]:
            return self.some

    random = np.random.default_rng(0)
    vectors = [random.normal(size=(4, len(NASTY), 8)).astype(np.float32) for _ in range(3)]
    none = [None] * 3
    held = Neurons(vectors, vectors, [1.0] * 3, none, none, none)
    one = replace(example(), neurons={"self": held}, opened=())
    heads = [Head(layer, head) for layer in range(3) for head in range(4)]
    first = Names(*((head, 0) for head in heads))
    second = Names((Head(1, 2), "previous"), (Head(2, 1), 1), (Head(0, 3), "no_such"))

    def there(examples: Any) -> list[list[Head]]:
        payload, _ = report_payload(dataset(), examples, sections=[first, second])
        found: list[list[Head]] = []
        for explorer in payload["examples"]:
            held = explorer["inputs"][0]["parts"][0]["neurons"]
            layers = held or [None] * 3
            found.append([Head(at, head) for at, each in enumerate(layers) if each for head in each["heads"]])
        return found

    assert there([one, one]) == [heads, [Head(2, 1)]]
    assert there([one, replace(one, neurons={})]) == [heads, []]
    assert there([one, replace(one, opened=None)]) == [heads, heads]
    each = 2 * (len(NASTY) * 8 + 8 * 8)
    monkeypatch.setattr(page, "NEURON_BYTES", 4 * each)
    assert there([one, one]) == [[Head(0, 0), Head(0, 1), Head(1, 2)], [Head(2, 1)]]
    monkeypatch.setattr(page, "NEURON_BYTES", 4 * each)
    two = SideBySide(one, one)
    assert there([two, one])[0] == [Head(0, 0)]  # of two models twice as much


def test_a_section_of_your_own_stands_before_the_table_with_its_arrays():
    class Mine(Section):
        def info(self, blobs: Blobs) -> SectionInfo:
            name = blobs.plain(np.arange(3.0))["data"]
            return section_of("mine", "Mine", name, [])

    payload, texts = report_payload(dataset(), sections=[Mine()])
    place = [one["title"] for one in payload["sections"]].index("Mine")
    assert payload["sections"][place + 1].get("name") == "heads"
    ref = ArrayRef(dtype="float64", shape=[3], encoding="plain", data=payload["sections"][place]["about"])
    assert list(decode(ref, texts)) == [0, 1, 2]


def test_what_is_missing_is_left_out():
    data = dataset().drop_vars(["previous_se", "previous_n", "previous_chance"])
    del data.attrs["meta"]
    payload, texts = report_payload(data)
    assert np.isnan(decode(payload["error"], texts)[0]).all()
    assert payload["model"]["layers"] == 3
    assert payload["command"] is None
    script_json(payload)


def test_ragged_heads_and_other_layer_indices():
    data = dataset().assign_coords(layer=[2, 5, 9])
    data["previous"].values[2, 3] = np.nan
    layers = [np.full((heads, 4, 4), 0.25, np.float32) for heads in (4, 4, 3)]
    found = wrap(layers, list("abcd"))
    found = type(found)(found.layers, found.query, found.key, index=(2, 5, 9))
    payload, _ = report_payload(data, [Input({"self": found})])
    (part,) = payload["examples"][0]["inputs"][0]["parts"]
    assert (part["index"], [len(heads) for heads in part["heads"]]) == ([2, 5, 9], [4, 4, 3])
    assert payload["layers"] == [2, 5, 9]


def test_measures_come_in_reading_order():
    data = dataset()
    for name in ("offset+2", "offset-2", "zebra", "largest"):
        data[name] = data["next"]
    expected = ["previous", "next", "first", "sep", "largest", "offset-2", "offset+2", "zebra"]
    assert measure_names(data) == [*expected, "entropy", "entropy_first"]


def test_a_measure_whose_name_ends_like_a_part_is_a_measure():
    data = dataset()
    data["house_se"] = data["next"]
    assert "house_se" in measure_names(data)


def test_the_summary_says_what_the_figures_say():
    payload, _ = report_payload(dataset())
    lines = said(payload)
    assert lines[0] == "1 head puts more than half of its attention on the previous token: L1H2 (80%)."
    assert "1 head puts more than half of its attention on separators: L0H1 (60%)." in lines
    assert any(
        line.startswith("No head is known to put more than half of its attention on the next token")
        for line in lines
    )
    head = next(part for part in told(payload)[0] if part["head"] is not None)
    assert (head["text"], head["layer"], head["head"]) == ("L1H2", 1, 2)


def test_the_summary_names_heads_whose_interval_is_above_half() -> None:
    data = dataset()
    data["previous_se"][1, 2] = 0.2  # 0.8 ± 0.4
    (line,) = (line for line in said(report_payload(data)[0]) if "previous token" in line)
    assert line.startswith("No head is known to put more than half of its attention on the previous token, ")
    assert "(80% on the previous token)" in line
    few = dataset()
    for name in few.data_vars:
        if str(name).endswith("_documents"):
            few[name][...] = 4.0
    lines = said(report_payload(few)[0])
    assert lines[0] == (
        "In these inputs, 1 head puts more than half of its attention on the previous token: L1H2 (80%)."
    )
    assert any(line.startswith("In these inputs, no head puts more than half") for line in lines)


def test_intervals_of_the_summary_hold_for_all_heads_at_once() -> None:
    """Of many heads at a half some have an interval above it by luck: that of L1H2 alone is, that of one of six not."""
    data = dataset()
    data["previous_se"][1, 2] = 0.1
    assert interval_of(data, "previous")[0][1, 2] > 0.5
    (line,) = (line for line in said(report_payload(data)[0]) if "previous token" in line)
    assert line.startswith("No head is known to put more than half of its attention on the previous token, ")


def test_the_summary_counts_the_heads_it_does_not_name():
    data = dataset(4, 4)
    data["previous"].values[1:] = np.linspace(0.6, 0.9, 12).reshape(3, 4)
    line = said(report_payload(data)[0])[0]
    assert line.startswith(
        "12 heads put more than half of their attention on the previous token: L3H3 (90%), "
    )
    assert line.endswith(" and 7 more, in layers 1 to 3.")


def test_the_summary_of_one_head_and_of_nothing():
    assert said(report_payload(dataset(1, 1))[0])
    data = dataset()
    for name in list(data.data_vars):
        data[name] = data[name].astype(float) * np.nan
    assert "summary" not in [one["kind"] for one in report_payload(data)[0]["sections"]]


def test_the_first_token_is_not_said_twice():
    data = dataset()
    data["cls"] = data["first"]
    assert not any("[CLS]" in line for line in said(report_payload(data)[0]))


def test_a_corpus_without_pairs_has_no_texts_a_and_b() -> None:
    data = dataset()
    data["previous"].attrs |= {
        "title": "A to B",
        "description": "Mean share of the attention of a token of text A that goes to tokens of text B.",
    }
    told = report_payload(data, halves=True)[0]["measures"]
    assert told[0]["title"] == "first half to second"
    assert told[0]["description"] == (
        "Mean share of the attention of a token of the first half that goes to tokens of the second half. "
        "An input is two stretches of one text, each of whole lines: its first and its second half."
    )
    assert "two stretches" not in told[1]["description"]
    assert report_payload(data)[0]["measures"][0]["title"] == "A to B"
