"""What a reader has at hand stands wherever a corpus is expected, and gives the figures of the corpus that it is."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import transformers
import xarray as xr

import headscope as hs
from headscope.core.tokens import Tokens
from headscope.core.validation import hints_of
from headscope.corpora import Corpus, Example
from headscope.errors import CorpusError, HeadscopeWarning, InputError
from headscope.models import Model
from tests.helpers.small_models import small_roberta

TEXTS = ["The cat sat on the mat.", "It was tired.", "A dog barked at the cat.", "She opened the door."]
PAIRS = [("The cat sat.", "It slept."), ("A dog barked.", "She opened the door.")]


class Streamed:
    """Rows of a data set of ``datasets``, as far as they are read."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.column_names = rows, list(rows[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def select_columns(self, names: list[str]) -> Streamed:
        return Streamed([{name: row[name] for name in names} for row in self.rows])


class Series:
    """A column of polars, as far as it is read."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def to_list(self) -> list[Any]:
        return self.values


class Frame:
    """A table of polars, as far as it is read."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> Series:
        return Series(self._columns[name])


@pytest.fixture(scope="module")
def model() -> Model:
    return small_roberta(cls=transformers.RobertaForMaskedLM)


def figures(model: Model, corpus: Any) -> xr.Dataset:
    return hs.measure(model, corpus, measures=["previous", "entropy"])


ROWS = [{"text": text, "label": place % 2, "other": None} for place, text in enumerate(TEXTS)]
FORMS: dict[str, Callable[[Model], Any]] = {
    "list": lambda _: TEXTS,
    "generator": lambda _: (text for text in TEXTS),
    "series": lambda _: pd.Series(TEXTS),
    "array": lambda _: np.array(TEXTS),
    "objects": lambda _: np.array(TEXTS, object),
    "structured": lambda _: np.array([(text,) for text in TEXTS], [("text", "U40")]),
    "pandas": lambda _: pd.DataFrame({"text": TEXTS, "score": [1.5, np.nan, 2, 3]}),
    "polars": lambda _: Frame(text=TEXTS, number=[1, 2, 3, 4]),
    "polars column": lambda _: Series(TEXTS),
    "arrow": lambda _: pa.table({"text": TEXTS}),
    "arrow column": lambda _: pa.chunked_array([TEXTS]),
    "columns": lambda _: {"text": TEXTS, "label": np.arange(4)},
    "rows": lambda _: ROWS,
    "datasets": lambda _: Streamed(ROWS),
    "examples": lambda _: [Example(text=text, document=place) for place, text in enumerate(TEXTS)],
    "tokens": lambda model: [
        Example(tokens=model.encode(text), document=place) for place, text in enumerate(TEXTS)
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_texts_in_any_form_are_the_corpus_of_these_texts(model: Model, form: str) -> None:
    xr.testing.assert_identical(
        figures(model, FORMS[form](model)).drop_attrs(),
        figures(model, hs.corpora.texts(TEXTS)).drop_attrs(),
    )


@pytest.mark.parametrize(
    "given",
    [
        PAIRS,
        zip(*zip(*PAIRS, strict=True), strict=True),
        np.array(PAIRS),
        pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"]),
        {"text": [a for a, _ in PAIRS], "pair": [b for _, b in PAIRS]},
    ],
    ids=["tuples", "zip", "array", "pandas", "columns"],
)
def test_pairs_in_any_form_are_pairs(model: Model, given: Any) -> None:
    expected = figures(model, hs.corpora.texts(PAIRS))
    xr.testing.assert_identical(figures(model, given).drop_attrs(), expected.drop_attrs())


@pytest.mark.slow
def test_a_generator_is_read_again_and_no_further_than_asked(model: Model) -> None:
    asked: list[int] = []

    def endless() -> Iterator[str]:
        for number in count():
            asked.append(number)
            yield TEXTS[number % 4]

    first = hs.roles(model, (TEXTS[number % 4] for number in range(8)))  # goes over it several times
    pd.testing.assert_frame_equal(first, hs.roles(model, TEXTS * 2))
    limited = hs.measure(model, endless(), measures=["previous"], limit=6)
    assert int(limited["previous_n"].max()) == sum(
        len(model.encode(text)) - 1 for text in islice(TEXTS * 2, 6)
    )
    assert len(asked) < 1000  # some are read ahead, to be tokenised together


SENTENCES = [
    {"words": ["The", "cat", "slept"], "heads": [1, 2, -1], "relations": ["det", "nsubj", "root"]},
    {"words": ["She", "ran"], "heads": [1, -1], "relations": ["nsubj", "root"]},
] * 3
TREES = [{**row, "document": place} for place, row in enumerate(SENTENCES)]
UD = [
    {
        "tokens": row["words"],
        "head": [str(head + 1) for head in row["heads"]],
        "deprel": row["relations"],
        "document": row["document"],
    }
    for row in TREES
]
LINKS = [{"text": "x = 1; print(x)", "links": [{"from": [13, 14], "to": [0, 1]}]}] * 6
CLUSTERS = [{"sentences": [["Ann", "met", "a", "dog"], ["She", "ran"]], "clusters": [[[0, 0], [4, 4]]]}] * 6
NEGATIONS = [{"words": ["He", "did", "not", "see"], "cue": [2], "scope": [0, 1, 3]}] * 6
PROMPTS = [{"text": "Maria lives in Oslo. Peter bakes. Maria lives in", "answer": " Oslo", "source": 0}] * 3
PAIRED = [{"text_a": f"The cat {place}", "text_b": "It ran", "label": str(place % 2)} for place in range(12)]


def _lines(read: Callable[..., Corpus]) -> Callable[[list[Any], Path], Corpus]:
    def reader(rows: list[Any], folder: Path) -> Corpus:
        path = folder / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return read(path)

    return reader


def _conllu(rows: list[Any], folder: Path) -> Corpus:
    sentences = [
        "\n".join(
            f"{place}\t{word}\t_\t_\t_\t_\t{head + 1}\t{relation}\t_\t_"
            for place, (word, head, relation) in enumerate(
                zip(row["words"], row["heads"], row["relations"], strict=True), 1
            )
        )
        for row in rows
    ]
    path = folder / "rows.conllu"
    path.write_text("\n\n".join(f"# newdoc\n{sentence}" for sentence in sentences) + "\n\n")
    return hs.corpora.conllu(path)


ANNOTATED: dict[str, tuple[Callable[..., Any], list[Any], Callable[[list[Any], Path], Corpus], list[Any]]] = {
    "links": (hs.links, LINKS, _lines(hs.corpora.links), LINKS),
    "syntax": (hs.syntax, TREES, _conllu, TREES),
    "syntax of CoNLL-U's columns": (hs.syntax, UD, _conllu, TREES),
    "links of trees": (hs.links, TREES, _conllu, TREES),
    "coreference": (hs.coreference, CLUSTERS, _lines(hs.corpora.clusters), CLUSTERS),
    "negation": (hs.negation, NEGATIONS, _lines(hs.corpora.negations), NEGATIONS),
    "context": (hs.context_attribution, PROMPTS, _lines(hs.corpora.prompts), PROMPTS),
    "groups": (hs.compare.groups, PAIRED, _lines(hs.corpora.pairs), PAIRED),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*head words of mentions")
@pytest.mark.parametrize("name", ANNOTATED)
@pytest.mark.parametrize("form", [pd.DataFrame, iter], ids=["pandas", "generator"])
def test_rows_with_annotations_are_read_as_their_files_are(
    name: str, form: Callable[[Any], Any], tmp_path: Path
) -> None:
    function, rows, read, written = ANNOTATED[name]
    decoder = name == "context"
    model = (
        small_roberta(cls=transformers.RobertaForCausalLM, is_decoder=True) if decoder else small_roberta()
    )
    options: dict[str, Any] = {"measures": ["previous"]} if name == "groups" else {}
    ours, theirs = (function(model, corpus, **options) for corpus in (form(rows), read(written, tmp_path)))
    tables = [each.table if name == "groups" else hs.table(each) for each in (ours, theirs)]
    pd.testing.assert_frame_equal(*tables)


def functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """The public functions with an argument in which a corpus may stand, and this argument."""
    for room in (hs, hs.compare, hs.contribution, hs.probes, hs.corpora):
        for name in getattr(room, "__all__", dir(room)):
            function = getattr(room, name)
            if inspect.isroutine(function):
                for argument, hint in hints_of(function).items():
                    if argument != "return" and "Corpus" in str(hint):
                        yield f"{room.__name__}.{name}", function, argument


@pytest.mark.parametrize(
    ("function", "argument"),
    [pytest.param(function, argument, id=f"{name}-{argument}") for name, function, argument in functions()],
)
def test_every_public_function_takes_what_makes_a_corpus(
    model: Model, function: Callable[..., Any], argument: str
) -> None:
    signature = inspect.signature(function)
    needed = [each.name for each in signature.parameters.values() if each.default is each.empty]
    filled = {name: model if name in ("model", "a", "b") else [model, model] for name in needed}
    filled |= {"train": TREES} | ({"a": "a text", "b": "a text"} if function is hs.similar else {})
    place = needed.index(argument) if argument in needed else len(needed)
    before = {name: filled.get(name, "L0H0") for name in needed[:place]}
    after = dict.fromkeys(needed[place + 1 :], "L0H0")
    with pytest.raises(InputError, match=r"found a dict with the keys 'train'; name one split$"):
        function(**before, **{argument: {"train": "none"}}, **after)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("a b", "c d"), r'^corpus: .*found a tuple of two strings; \["a", "b"\] are two texts, \[\("a", "b"\)\] is'),
        ([["a", "b"]], r"^corpus\[0\]: expected a text, found a list of strings; .*is a pair of texts"),
        ([("a", "b", "c")], r"^texts\[0\]: expected a string or a pair of strings, found a tuple of 3$"),
        (["a b", None], r"^texts\[1\]: expected a string, found null$"),
        (pd.Series(["a b", np.nan]), r"^texts\[1\]: expected a string, found null$"),
        (pd.DataFrame({"review": TEXTS}), r"^rows: expected a column 'text' \(or .*dataset\(…, text=NAME\).*'review'$"),
        ({"text": "a b"}, r"^rows: expected .*a dict of columns.*found a dict with the keys 'text'"),
        ({"text": ["a", "b"], "label": [1]}, r"^rows: expected columns of one length, found 2 in 'text', 1 in 'label'$"),
        (pd.DataFrame({"text": []}), r"^rows: expected at least one, found none$"),
        (iter([]), r"^corpus: expected at least one input, found none$"),
        ((number for number in range(3)), r"^corpus: expected a corpus or examples, found int; "),
    ],
)  # fmt: skip
def test_what_could_mean_several_things_is_refused_in_a_line(model: Model, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        figures(model, given)


def test_names_of_files_are_no_texts(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wiki.txt").write_text("The cat sat.\n")
    with pytest.raises(
        InputError, match=r"^corpus: expected texts, found names of files; .*text\('wiki.txt'\)"
    ):
        figures(model, ["wiki.txt"])
    with open("wiki.txt") as file, pytest.raises(InputError, match=r"headscope\.corpora\.text"):
        figures(model, file)
    assert figures(model, ["wiki.txt", "The cat sat."])["previous_n"].max() > 0


def test_conversations_are_inputs_and_rows_without_a_text_are_left_out(model: Model) -> None:
    template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    talks = [[{"role": "user", "content": text}] for text in TEXTS]
    model.tokenizer.chat_template, before = template, model.tokenizer.chat_template
    try:
        one, several = figures(model, talks[0]), figures(model, talks)
        expected = figures(model, hs.corpora.dataset([{"messages": talk} for talk in talks]))
    finally:
        model.tokenizer.chat_template = before
    assert int(several["previous_n"].max()) > int(one["previous_n"].max()) > 0
    xr.testing.assert_identical(several.drop_attrs(), expected.drop_attrs())
    with pytest.warns(HeadscopeWarning, match=r"rows\[1\]: expected one of the keys"):
        figures(model, pd.DataFrame({"text": ["The cat sat.", None]}))
    with pytest.raises(CorpusError, match=r"rows\[0\]: expected one of the keys .*, found 'body'"):
        figures(model, [{"body": "The cat sat."}])


def test_rows_that_are_no_trees_are_named(model: Model) -> None:
    with pytest.raises(CorpusError, match=r"rows\[0\]: word 1: expected one root, found none"):
        hs.syntax(model, [{"words": ["a", "b"], "heads": [1, 0], "relations": ["x", "y"]}])
    with pytest.raises(CorpusError, match=r"rows\[0\]: 'heads': expected 2, one a word, found 1"):
        hs.syntax(model, [{"words": ["a", "b"], "heads": [-1], "relations": ["x", "y"]}])
    with pytest.raises(InputError, match="expected links, a tree or coreference, found none"):
        hs.links(model, TEXTS)


def test_tokens_are_a_text_where_one_may_stand(model: Model) -> None:
    tokens: Tokens = model.encode(TEXTS[0])
    single = hs.contribution.neuron_patterns(model, tokens)
    pd.testing.assert_frame_equal(single, hs.contribution.neuron_patterns(model, [TEXTS[0]]))


def test_a_path_is_read_as_what_it_holds(model: Model, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join(TEXTS))
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"{text},x\n" for text in TEXTS))
    (tmp_path / "pro.txt.dev").write_text(
        "".join(f"1 [The clerk] paid, for [she] was late {number}.\n" for number in range(3))
    )
    texts = figures(model, TEXTS)
    for name in ("a.txt", "a.csv"):
        np.testing.assert_array_equal(figures(model, tmp_path / name)["previous"], texts["previous"])
    with pytest.warns(HeadscopeWarning, match="read as sentences with mentions in brackets"):
        links = hs.links(model, tmp_path / "pro.txt.dev", least=1)
    assert links["n"].values.tolist() == [3]
    with pytest.raises(CorpusError, match=r"none\.txt: expected a file, found nothing there"):
        figures(model, tmp_path / "none.txt")
