"""What the engine makes of links, beside plain loops over captured maps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import corpora
from headscope.analyses import analyses
from headscope.analyses.shown import of_result
from headscope.core.link import Link, Span
from headscope.corpora import Example
from headscope.errors import HeadscopeWarning
from headscope.models import Model
from tests.helpers.alignment_by_sets import Alignment, aligned
from tests.helpers.links_by_loops import averages, figures, one, spread, words
from tests.helpers.small_models import sharpen, translator
from tests.helpers.small_tokenizers import byte_level

TEXTS = [
    "The old stone bridge at Harrow was repaired because it was unsafe.",
    "Ann saw her dog, and the unbelievably friendly dog barked at her.",
    "In the evening the shopkeeper counted what she had earned.",
]


def figures_of(found: Any, label: str, direction: str) -> dict[str, np.ndarray[Any, Any]]:
    own = found.sel(label=label, direction=direction)
    names = {"accuracy": "right", "mass": "mass", "rank": "rank", "average_precision": "precision"}
    return {mine: own[theirs].values for theirs, mine in names.items()}


def check(found: Any, label: str, direction: str, each: list[Any]) -> None:
    for name, values in figures_of(found, label, direction).items():
        np.testing.assert_allclose(
            values, averages(each, name), atol=2e-5, err_msg=f"{label} {direction} {name}"
        )


def maps(model: Model, tokens: Any) -> Any:
    return np.array(hs.capture(model, tokens).layers, np.float64)


def split(text: str) -> list[str]:
    return text.replace(",", " ,").replace(".", " .").split()


SPANS = [
    Link(Span(9, 10), (Span(1, 4),), "several"),
    Link(Span(1, 3), (Span(5, 6), Span(7, 8)), "several"),
    Link(Span(8, 9), (Span(2, 3),), "single"),
    Link(Span(4, 5), (Span(6, 7),), "single"),
]


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["row", "column"])
def test_words_of_a_text(demo: Any, direction: Any) -> None:
    examples = [Example(words=split(text), links=SPANS, source=f"a:{n}") for n, text in enumerate(TEXTS)]
    found = hs.links(demo, [replace(each, tokens=demo.from_words(each.words)) for each in examples], least=1)
    for label in ("several", "single"):
        each = []
        for example in examples:
            tokens = demo.from_words(example.words)
            units, weights = words(tokens), maps(demo, tokens)
            each += [
                figures(weights, *one(link, units), column=direction == "column")
                for link in SPANS
                if link.label == label
            ]
        check(found, label, direction, each)
    assert found["n"].sel(label="all").item() == 12


def test_the_first_piece_in_place_of_the_mean(demo: Any) -> None:
    link = Link(Span(7, 8), (Span(3, 4),))
    example = Example(words=split(TEXTS[1]), links=[link])
    tokens = demo.from_words(example.words)
    units = words(tokens)
    assert len(units[7]) > 1
    found = hs.links(demo, [replace(example, tokens=tokens)], rows="first", direction="row")
    first, right, candidates = one(link, units)
    check(found, "link", "row", [figures(maps(demo, tokens), first[:1], right, candidates)])


@pytest.mark.parametrize(
    ("candidates", "kept"),
    [
        ("earlier", lambda unit, source: unit[-1] < source[0]),
        ("later", lambda unit, source: unit[0] > source[-1]),
    ],
)
def test_candidates_before_and_after(demo: Any, candidates: Any, kept: Any) -> None:
    link = Link(Span(5, 7), (Span(3, 4), Span(9, 10)))
    example = Example(words=split(TEXTS[0]), links=[link])
    tokens = demo.from_words(example.words)
    found = hs.links(demo, [replace(example, tokens=tokens)], candidates=candidates)
    source, right, units = one(link, words(tokens))
    some = [(flag, unit) for flag, unit in zip(right, units, strict=True) if kept(unit, source)]
    expected = figures(maps(demo, tokens), source, [flag for flag, _ in some], [unit for _, unit in some])
    own = figures_of(found, "link", "row")
    np.testing.assert_array_equal(own["right"], averages([expected], "right"))
    np.testing.assert_allclose(own["rank"], averages([expected], "rank"))
    np.testing.assert_allclose(own["precision"], averages([expected], "precision") / 2, rtol=1e-6)
    assert found["baseline"].sel(label="link", rule="chance").item() == pytest.approx(1 / len(some))


def test_candidates_that_are_listed(demo: Any) -> None:
    """Spans of several words are candidates as wholes: they get the sum of their words."""
    link = Link(Span(9, 10), (Span(0, 4),), candidates=(Span(0, 4), Span(5, 6), Span(6, 8)))
    example = Example(words=split(TEXTS[0]), links=[link])
    tokens = demo.from_words(example.words)
    units = words(tokens)
    found = hs.links(demo, [replace(example, tokens=tokens)], candidates="listed")
    candidates = [spread(span, units) for span in link.candidates or ()]
    for direction in ("row", "column"):
        expected = figures(
            maps(demo, tokens), units[9], [True, False, False], candidates, column=direction == "column"
        )
        check(found, "link", direction, [expected])
    assert found["baseline"].sel(label="link", rule="chance").item() == pytest.approx(1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3])
def test_characters_and_texts_of_a_pair(demo: Any, batch_size: int) -> None:
    """*unbelievably friendly* is two words; text B is its own text; special tokens are no candidates."""
    text, pair = TEXTS[1], "Her dog is unfriendly."
    links = [
        Link(Span(25, 46), (Span(8, 15),), "phrase", unit="characters"),
        Link(Span(4, 7, "b"), (Span(12, 15), Span(47, 50)), "same", unit="characters"),
        Link(Span(0, 3, "b"), (Span(0, 3),), "name", unit="characters"),
    ]
    wanted = ("unbelievably friendly", "her dog", "dog", "dog")
    assert (text[25:46], text[8:15], text[47:50], pair[4:7]) == wanted
    tokens = demo.encode(text, pair)
    units = words(tokens, 0) + words(tokens, 1)
    weights = maps(demo, tokens)
    sources: list[Any] = [(7, 9), (15, 16), (14, 15)]
    targets: list[Any] = [[2, 3], [3, 9], [0]]
    named = ["".join(tokens.pieces[place].removeprefix("##") for place in unit) for unit in units]
    assert named[7:10] == ["unbelievably", "friendly", "dog"]
    assert (named[14], named[15], named[2], named[3]) == ("her", "dog", "her", "dog")
    found = hs.links(
        demo,
        [Example(text=text, pair=pair, tokens=tokens, links=links, document=n) for n in range(3)],
        batch_size=batch_size,
        least=1,
    )
    for link, (start, end), right in zip(links, sources, targets, strict=True):
        source = [token for unit in units[start:end] for token in unit]
        candidates = [unit for unit in units if not set(unit) & set(source)]
        flags = [any(unit == units[place] for place in right) for unit in candidates]
        for direction in ("row", "column"):
            expected = figures(weights, source, flags, candidates, column=direction == "column")
            check(found, link.label, direction, [expected])
    other = hs.links(
        demo, [Example(text=text, pair=pair, tokens=tokens, links=links[1:])], candidates="other", least=1
    )
    beside = [unit for unit in units if tokens.sequence_ids[unit[0]] == 0]
    expected = figures(weights, units[15], [unit in (units[3], units[9]) for unit in beside], beside)
    check(other, "same", "row", [expected])


def test_tokens_are_taken_as_they_are_special_ones_included(demo: Any) -> None:
    tokens = demo.encode(TEXTS[2])
    matrix = np.zeros((len(tokens), len(tokens)), bool)
    matrix[3, 0] = matrix[5, [2, len(tokens) - 1]] = True
    (corpus,) = corpora.linked([TEXTS[2]], [matrix])
    found = hs.links(demo, [replace(corpus, tokens=tokens)], least=1)
    each = []
    for source, right in ((3, [0]), (5, [2, len(tokens) - 1])):
        candidates = [[place] for place in range(len(tokens)) if place != source]
        each.append(
            figures(maps(demo, tokens), [source], [unit[0] in right for unit in candidates], candidates)
        )
    check(found, "link", "row", each)


def causal() -> Model:
    torch.manual_seed(0)
    tokenizer = byte_level()
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4)
    return hs.load((sharpen(transformers.GPT2LMHeadModel(config)), tokenizer))


def test_a_causal_model_chooses_among_what_it_sees() -> None:
    model = causal()
    links = [Link(Span(6, 7), (Span(2, 3),), "back"), Link(Span(2, 3), (Span(6, 7),), "ahead")]
    example = Example(words=split(TEXTS[2]), links=links)
    tokens = model.from_words(example.words or [])
    units, weights = words(tokens), maps(model, tokens)
    found = hs.links(model, [replace(example, tokens=tokens)], least=1)
    back = figures(weights, units[6], [place == 2 for place in range(6)], units[:6])
    check(found, "back", "row", [back])
    ahead = figures(weights, units[2], [place == 6 for place in range(3, len(units))], units[3:], column=True)
    check(found, "ahead", "column", [ahead])
    hidden = found.sel(label="ahead", direction="row")
    assert hidden["accuracy"].max() == hidden["mass"].max() == 0
    assert (hidden["rank"] == 3).all()  # after both that can be seen
    assert found["baseline"].sel(label="back", rule="chance").item() == pytest.approx(1 / 6)


def with_alignment(folder: Path, alignment: str) -> corpora.Corpus:
    (folder / "a.txt").write_text("the old bridge was repaired\nshe saw her dog\n")
    (folder / "b.txt").write_text("repaired was the bridge\nher dog saw she\n")
    (folder / "ab.align").write_text(alignment)
    return corpora.alignments(*(folder / name for name in ("a.txt", "b.txt", "ab.align")))


ALIGNMENT = "0-2 1?3 2-3 3-1 4-0\n0-3 1-2 2-0 3-1\n"


def sum_of(weights: Any, sources: Any, others: Any, *, mean_of_rows: bool) -> Any:
    """What each source gives to, or gets from, each of the others: the mean over queries of the sum over keys."""
    each = np.array([[weights[np.ix_(one, other)] for other in others] for one in sources], object)
    axes = (1, 0) if mean_of_rows else (0, 1)
    return np.array([[block.sum(axes[0]).mean() for block in row] for row in each])


def test_cross_attention_of_an_encoder_decoder(tmp_path: Path) -> None:
    model = translator()
    corpus = with_alignment(tmp_path, ALIGNMENT)
    found = hs.links(model, corpus, least=1)
    rows: list[Any] = []
    columns: list[Any] = []
    counts = {label: [[Alignment(0, 0, 0, 0)] * 4 for _ in range(2)] for label in ("b to a", "a to b")}
    for example in corpus:
        encoder, decoder = (model.from_words(each or ()) for each in (example.words, example.pair_words))
        read = np.concatenate([[2], decoder.ids[:-1]])
        inputs = {"input_ids": torch.tensor(encoder.ids)[None], "decoder_input_ids": torch.tensor(read)[None]}
        captured: Any = hs.capture(model, inputs=inputs)
        cross = np.array(captured["cross"].layers, np.float64)
        a, b = words(encoder), [[token + 1 for token in unit] for unit in words(decoder)]
        for label, maps_, sources, others in (
            ("b to a", cross, b, a),
            ("a to b", cross.transpose(0, 1, 3, 2), a, b),
        ):
            known = [link for link in example.links or () if link.label == label]
            sure, possible = (
                {(link.source.start, span.start) for link in known for span in getattr(link, name)}
                for name in ("targets", "possible")
            )
            for layer, heads in enumerate(maps_):
                for head, weights in enumerate(heads):
                    given = sum_of(weights, sources, others, mean_of_rows=label == "b to a")
                    chosen = aligned(sure, possible, enumerate(given.argmax(1).tolist()))
                    before = counts[label][layer][head]
                    counts[label][layer][head] = Alignment(*np.add(before, chosen).tolist())
        for link in example.links or ():
            right = {span.start for span in (*link.targets, *link.possible)}
            if link.label == "b to a":
                rows.append(figures(cross, b[link.source.start], [n in right for n in range(len(a))], a))
            else:
                flags = [n in right for n in range(len(b))]
                columns.append(figures(cross, a[link.source.start], flags, b, column=True))
    check(found, "b to a", "row", rows)
    check(found, "a to b", "column", columns)
    for label, sums in counts.items():
        direction = "row" if label == "b to a" else "column"
        rate = [[each.error_rate for each in layer] for layer in sums]
        np.testing.assert_allclose(found["aer"].sel(label=label, direction=direction).values, rate)
    assert found["accuracy"].sel(label="b to a", direction="column").isnull().all()


def test_the_alignment_error_rate_by_hand(tmp_path: Path) -> None:
    """Of nearest candidates (by index) in two sentences of 5 and 4 words; sure 8, possible 9."""
    model = translator()
    found = hs.links(model, with_alignment(tmp_path, ALIGNMENT), least=1)
    # b to a: words of B choose the word of A with their own index: 0-0 1-1 2-2 3-3 | 0-0 1-1 2-2 3-3: none is possible
    assert found["aer_rule"].sel(label="b to a", rule="nearest").item() == pytest.approx(1.0)
    # by the offset of +1: B0→A1, B1→A2, B2→A3, B3→A4 | …; one before: B1→A0, B2→A1, B3→A2 (sure) | B2→A1 (sure: 1-2)
    # A = 8 words of B, S = 8 links; the offset −1 finds B3→A2 and B2→A1 of the second sentence, both sure
    assert found["aer_rule"].sel(label="b to a", rule="-1").item() == pytest.approx(1 - (2 + 2) / (8 + 8))
    # the same of A: 9 words; the offset +1: A0→B1 A1→B2 A2→B3 (sure) A3→B4 – | A0→B1 A1→B2 (sure) A2→B3
    assert found["aer_rule"].sel(label="a to b", rule="+1").item() == pytest.approx(1 - (2 + 2) / (9 + 8))
    # +2: A1→B3 is possible and not sure; A0→B2 sure | A1→B3 no
    assert found["aer_rule"].sel(label="a to b", rule="+2").item() == pytest.approx(1 - (1 + 2) / (9 + 8))
    table = found.table()
    assert {"aer", "aer_low", "aer_high"} <= {*table.columns}


def test_words_without_links_count_for_the_error_rate_alone(tmp_path: Path) -> None:
    found = hs.links(translator(), with_alignment(tmp_path, "0-0\n\n"), least=1)
    assert found["n"].sel(label="b to a").item() == 1
    # one sentence with one sure link: the other words of B choose something that is not possible
    assert found["aer_rule"].sel(label="b to a", rule="nearest").item() == pytest.approx(1 - 2 / (4 + 1))


def test_a_span_that_a_piece_does_not_end_with_is_said(demo: Any) -> None:
    text = TEXTS[1]
    start = text.index("friendly")
    corpus = corpora.linked([text], [[((start, start + 3), (0, 3))]])
    with pytest.warns(
        HeadscopeWarning, match=r"1 span parts a piece:\n  items\[0\]: links\[0\]: 'friendly' is taken whole"
    ):
        hs.links(demo, corpus)


def test_what_is_left_out_is_said(demo: Any) -> None:
    good = [[((4, 7), (0, 3))]] * 2
    corpus = corpora.linked(["The cat sat.", "the cat " * 600], good)
    with pytest.warns(
        HeadscopeWarning, match=r"expected at most 512 tokens in a text with links, found 1202"
    ):
        found = hs.links(demo, corpus, least=1)
    assert found["n"].sel(label="link").item() == 1


@pytest.mark.slow
def test_trees_and_coreference_are_links_as_well(demo: Any) -> None:
    trees = corpora.builtin_trees()
    found, beside = hs.links(demo, trees, limit=24), hs.syntax(demo, trees, limit=24)
    for label in ("det", "nsubj", "case"):
        np.testing.assert_array_equal(
            found["accuracy"].sel(label=label).values, beside["accuracy"].sel(relation=label).values
        )
    mentions = [replace(each, heads=None, relations=None) for each in trees.encoded(demo)][:30]
    assert hs.links(demo, mentions)["label"].values.tolist() == ["antecedent"]


@pytest.mark.parametrize("candidates", ["any", "other"])
@pytest.mark.parametrize(("shift", "rule"), [(0, "nearest"), (1, "+1"), (-2, "-2")])
def test_places_of_a_pair_are_within_each_text(demo: Any, candidates: Any, shift: int, rule: str) -> None:
    words_, pair = split("the old bridge was here"), split("a boat came up river")
    places = range(max(0, -shift), 5 - max(0, shift))
    links = [Link(Span(at, at + 1), (Span(at + shift, at + shift + 1, "b"),)) for at in places]
    links += [Link(Span(at + shift, at + shift + 1, "b"), (Span(at, at + 1),), "back") for at in places]
    example = Example(words=words_, pair_words=pair, links=links)
    found = hs.links(
        demo, [replace(example, tokens=demo.from_words(words_, pair))], candidates=candidates, least=1
    )
    assert found["baseline"].sel(label="link", rule=rule) == 1
    assert found["baseline"].sel(label="link").sum() - found["baseline"].sel(
        label="link", rule="chance"
    ) == pytest.approx(1)
    back = rule if shift == 0 else f"{-shift:+d}"
    assert found["baseline"].sel(label="back", rule=back) == 1


def test_places_of_a_pair_are_scaled_by_the_lengths_of_its_texts(demo: Any) -> None:
    words_, pair = split("the old bridge was here"), split("a boat came up the river with her old dogs")
    links = [Link(Span(at, at + 1), (Span(2 * at, 2 * at + 1, "b"),)) for at in range(5)]
    links += [Link(Span(2 * at, 2 * at + 1, "b"), (Span(at, at + 1),), "back") for at in range(5)]
    example = Example(words=words_, pair_words=pair, links=links)
    found = hs.links(demo, [replace(example, tokens=demo.from_words(words_, pair))], least=1)
    assert found["baseline"].sel(label="link", rule="nearest") == 1
    assert found["baseline"].sel(label="back", rule="nearest") == 1


def test_places_of_a_pair_of_tokens_are_within_each_text(demo: Any) -> None:
    tokens = demo.encode("the old bridge was here", "a boat came up here")
    assert tokens.sequence_ids.tolist() == [-1, *[0] * 5, -1, *[1] * 5, -1]
    matrix = np.zeros((len(tokens), len(tokens)), bool)
    matrix[np.arange(1, 6), np.arange(7, 12)] = True
    (corpus,) = corpora.linked(["x"], [matrix])
    found = hs.links(demo, [replace(corpus, tokens=tokens)], least=1)
    assert found["baseline"].sel(label="link", rule="nearest") == 1


@pytest.mark.parametrize("direction", ["row", "column"])
def test_targets_that_overlap_their_source_are_none(demo: Any, direction: Any) -> None:
    """A word of its own target span is no candidate of itself; a word linked to itself alone has no target."""
    links = [Link(Span(2, 3), (Span(1, 4),), "within"), Link(Span(5, 6), (Span(5, 6),), "itself")]
    example = Example(words=split(TEXTS[0]), links=links)
    tokens = demo.from_words(example.words)
    units, weights = words(tokens), maps(demo, tokens)
    found = hs.links(demo, [replace(example, tokens=tokens)], direction=direction, least=1)
    for link in links:
        check(
            found, link.label, direction, [figures(weights, *one(link, units), column=direction == "column")]
        )
    assert (found["mass"].sel(label="itself") == 0).all()
    assert found["average_precision"].sel(label="within").max() > 0.5


def test_a_source_without_candidates_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    """The first word of a causal model sees none before it: it has no rank."""
    model = causal()
    links = [Link(Span(6, 7), (Span(2, 3),)), Link(Span(0, 1), (Span(1, 2),), place="links[1]")]
    example = Example(words=split(TEXTS[2]), links=links, source="a:1")
    given = [replace(example, tokens=model.from_words(example.words or []))]
    with pytest.warns(
        HeadscopeWarning, match=r"1 source left out, without any candidate:\n  a:1: links\[1\]"
    ):
        found = hs.links(model, given, direction="row", least=1)
    alone = hs.links(model, [replace(given[0], links=links[:1])], direction="row", least=1)
    for name in ("n", "accuracy", "rank", "mass", "average_precision", "baseline"):
        np.testing.assert_array_equal(found[name], alone[name])
    found = hs.links(model, given, least=1)
    assert found["asked"].sel(direction="row").item() == 1
    assert found["asked"].sel(direction="column").item() == 2
    assert found["n"].item() == 2
    said = of_result(found, analysis=analyses()["links"]).text
    assert "row: 1 of 2 sources have no candidates: no head is right there" in said
    for name in ("rank", "mass", "average_precision"):
        np.testing.assert_array_equal(found[name].sel(direction="row"), alone[name].sel(direction="row"))
    column = hs.links(model, given, direction="column", least=1)
    np.testing.assert_array_equal(
        found["rank"].sel(direction="column"), column["rank"].sel(direction="column")
    )
