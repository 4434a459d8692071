"""Mentions that show what the best heads choose as antecedents."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.models import Model
from tests.helpers import linguistics_sample as sample
from tests.helpers.pages import section
from tests.helpers.section_blocks import rows, table

pytestmark = pytest.mark.slow


def test_mentions_show_what_the_head_chose(demo: Model, linguistics: Any) -> None:
    """Recomputed from the whole map of the row's head, among the candidates that the row names."""
    info = section(linguistics, "coref")
    texts = table(info, "systems")["cases"]["texts"]
    heads = [row for row in rows(info, "systems") if row["head"] is not None]
    assert [row["candidates"] for row in heads] == ["preceding mentions", "other mentions", "any word"]
    for row in heads:
        assert [shown["right"] for shown in row["cases"]["mentions"]] == [True] * 3 + [False] * 3
        assert len({shown["window"] for shown in row["cases"]["mentions"][:3]}) == 3
        for shown in row["cases"]["mentions"]:
            window = texts[shown["window"]]
            spans = window["mentions"]
            start, end, word = spans[shown["mention"]]
            assert start <= word < end
            weights = sample.word_map(demo, window["words"], row)[word]
            others = {head for *_, head in spans} - {word}
            among = {
                "preceding mentions": sorted(head for head in others if head < word),
                "other mentions": sorted(others),
                "any word": [place for place in range(len(weights)) if place != word],
            }[row["candidates"]]
            assert shown["predicted"] == among[int(weights[among].argmax())]
            assert shown["weight"] == pytest.approx(weights[shown["predicted"]], abs=6e-5)
            earlier = {spans[place][2] for place in shown["antecedents"]}
            assert earlier
            assert (shown["predicted"] in earlier) == shown["right"]
            assert max(earlier) < word


def test_mentions_that_would_be_right_are_those_of_the_cluster(linguistics: Any) -> None:
    """By the annotation of the corpus, read again: texts are whole sentences of one document, spaced as written."""
    info = section(linguistics, "coref")
    sentences = list(hs.corpora.builtin_trees())
    checked = 0
    for place, window in enumerate(table(info, "systems")["cases"]["texts"]):
        own = next(
            sentences[start:end]
            for start in range(len(sentences))
            for end in range(start + 1, len(sentences) + 1)
            if [word for one in sentences[start:end] for word in one.words or ()] == window["words"]
        )
        assert len({one.document for one in own}) == 1
        assert window["spaces"] == [space for one in own for space in one.spaces or ()]
        assert sample.text_of(linguistics["examples"][window["example"]]) == "".join(window["words"]).lower()
        clusters: list[str] = []
        spans: list[tuple[int, int]] = []
        offset = 0
        for one in own:
            clusters += [mention.cluster for mention in one.mentions or ()]
            spans += [(mention.start + offset, mention.end + offset) for mention in one.mentions or ()]
            offset += len(one.words or ())
        assert [(start, end) for start, end, _ in window["mentions"]] == spans
        for row in rows(info, "systems"):
            for shown in row["cases"]["mentions"] if row["cases"] else ():
                if shown["window"] == place:
                    head = window["mentions"][shown["mention"]][2]
                    assert shown["antecedents"] == [
                        number
                        for number, cluster in enumerate(clusters)
                        if cluster == clusters[shown["mention"]] and window["mentions"][number][2] < head
                    ]
                    checked += 1
    assert checked == 18
