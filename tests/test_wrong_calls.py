"""Wrong calls in Python, one by one: each ends at once in one sentence that says what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headscope as hs
from headscope import bertviz
from headscope.bertviz import neuron_view
from headscope.errors import (
    CorpusError,
    HeadscopeError,
    InputError,
    ModelError,
    RefusedError,
    RunError,
    ShapeError,
)
from tests.helpers import workspace
from tests.helpers.small_models import save_gpt2, small_roberta

NAN, HUGE, TEXT = float("nan"), 10**30, "The cat sat."


class Odd:
    """Nothing that anything takes."""


COUNT = [
    (0, "at least 1"),
    (-1, "at least 1"),
    (1.5, "a whole number"),
    ("3", "a whole number"),
    (HUGE, "at most"),
]
SEED = [(each, "a seed from 0 to 4294967295") for each in (-1, 1.5, "3", NAN, HUGE)]
FLAG = [(each, "True or False") for each in ("x", 5)]
MODEL = [(each, "one from hs.load") for each in ("gpt2", 5, None, [], {}, torch.nn.Linear(2, 2), b"x")]
CORPUS = [
    (each, "headscope.corpora.texts([...]) takes strings")
    for each in (
        "wiki.txt", 5, None, [1], {}, b"x", Path("wiki.txt"), [None], np.zeros(3),
        np.array(3), torch.tensor(1),
    )
]  # fmt: skip
NUMBERS = [
    (5, "a list"),
    ("x", "a list"),
    (["x"], "a whole number"),
    ([1.5], "a whole number"),
    ([99], "0 to 1"),
]
PATH = [(each, "a path") for each in (5, None, [], b"x", True)]
WRONG: dict[str, list[tuple[Any, str]]] = {
    "model": MODEL,
    "a": MODEL,
    "corpus": CORPUS,
    "treebank": CORPUS,
    "train": CORPUS,
    "measures": [
        ("previous", "a list, each"), (5, "a list, each"), ([], "at least one"), ([5], "a string or a measure"),
        (["nope"], "expected surface"), ([""], "expected surface"), ({"previous": 1}, "a list, each"),
        (["previous", "previous"], "each once"), (["offset+" + "9" * 12], "expected surface"),
    ],
    "by": [(each, "token or document") for each in ("x", 5, None, [])],
    "preset": [("x", "clark2019"), (5, "clark2019")],
    "batch_size": COUNT,
    "limit": COUNT,
    "seed": SEED,
    "progress": FLAG,
    "level": [(0, "between 0 and 1"), (2, "between 0 and 1"), ("x", "a number"), (NAN, "between 0 and 1")],
    "window": COUNT,
    "epochs": COUNT,
    "permutations": [
        (-1, "at least 20,000"), (10, "at least 20,000"), (10**14, "at most 1,000,000"), ("x", "a whole number"),
        (NAN, "a whole number"),
    ],
    "kinds": [("x", "a list, each a string"), (["x"], "right-branching"), ([], "right-branching"), ([5], "a string")],
    "offsets": [(5, "a list"), (["x"], "a whole number"), ([], "at least one"), ([HUGE], "at most 10,000")],
    "layers": [*NUMBERS, ([], "at least one")],
    "pack": [(0, "at least 8 tokens, or None"), ("x", "at least 8 tokens, or None"), (True, "at least 8 tokens")],
    "paths": [(each, "expected") for each in (5, None, "none", "empty", [], b"x", "a\0b", "x" * 5000, [5], ["none"], {})],
    "dtype": [("int8", "float32"), (5, "expected"), (torch.int8, "float32")],
    "untrained": SEED,
    "device": [("cuda:99", "one that is here"), (5, "a string"), ("xyz", "one that is here")],
    "objective": [("x", "expected"), (5, "expected"), ([], "expected"), ("logit:", "expected")],
    "theme": [("x", "light or dark"), (5, "light or dark")],
    "words": [("x", "expected"), (5, "expected")],
    "documents": [("x", "blank, line or file"), (None, "blank, line or file")],
}  # fmt: skip


@cache
def scene() -> SimpleNamespace:
    """A small model that reads text, a causal one, corpora, maps and a result."""
    model = small_roberta(cls=transformers.RobertaForMaskedLM)
    tokenizer = model.tokenizer
    corpus = hs.corpora.texts([TEXT, "A dog barked at the cat.", "She opened the door."] * 3)
    return SimpleNamespace(
        model=model, tokenizer=tokenizer, corpus=corpus, trees=hs.corpora.builtin_trees(), maps=hs.capture(model, TEXT),
        stats=hs.measure(model, corpus, measures=["previous"]), even=[torch.full((1, 2, 3, 3), 1 / 3)] * 2,
    )  # fmt: skip


CALLS: dict[str, Callable[[SimpleNamespace], dict[str, Any]]] = {
    "capture": lambda of: {"model": of.model, "text": TEXT},
    "measure": lambda of: {"model": of.model, "corpus": of.corpus},
    "distance": lambda of: {"model": of.model, "corpus": of.corpus},
    "syntax": lambda of: {"model": of.model, "treebank": of.trees},
    "coreference": lambda of: {"model": of.model, "corpus": of.trees},
    "negation": lambda of: {"model": of.model, "corpus": of.corpus},
    "probe": lambda of: {"model": of.model, "train": of.trees, "dev": of.trees},
    "roles": lambda of: {"model": of.model, "corpus": of.corpus},
    "load": lambda of: {},
    "figure": lambda of: {"result": of.stats},
    "compare.groups": lambda of: {"model": of.model, "corpus": hs.corpora.pairs("pairs.tsv")},
    "compare.models": lambda of: {"a": of.model, "b": of.model, "corpus": of.corpus},
    "compare.training": lambda of: {"checkpoints": [of.model, of.model], "corpus": of.corpus},
    "contribution.importance": lambda of: {"model": of.model, "corpus": of.corpus},
    "contribution.ablation": lambda of: {"model": of.model, "corpus": of.corpus},
    "contribution.flow": lambda of: {"maps": of.maps},
    "contribution.unused_token": lambda of: {"model": of.model, "corpus": of.corpus, "token": "<mask>"},
    "corpora.text": lambda of: {"paths": "wiki.txt"},
    "corpora.jsonl": lambda of: {"paths": "chats.jsonl"},
    "corpora.conllu": lambda of: {"paths": "train.conllu"},
}


def function_of(name: str) -> Callable[..., Any]:
    found: Any = hs
    for part in name.split("."):
        found = getattr(found, part)
    return found


def one_by_one() -> Iterator[Any]:
    """Each function with each of its arguments wrong, in each way."""
    for name in CALLS:
        for parameter in inspect.signature(function_of(name)).parameters:
            if name == "load" and parameter == "model":
                continue
            free = {"corpus", "treebank"} if name == "contribution.unused_token" else set[str]()
            for place, (value, words) in enumerate(() if parameter in free else WRONG.get(parameter, ())):
                yield pytest.param(name, parameter, value, words, id=f"{name}-{parameter}-{place}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    workspace.write_corpora(folder)
    save_gpt2(folder / "gpt2", n_positions=64, bos_token_id=0, eos_token_id=0)
    (folder / "empty").mkdir()
    return folder


def check(call: Callable[[], Any], kind: type[HeadscopeError], words: str) -> None:
    def done() -> None:
        found = call()
        if isinstance(found, hs.corpora.Corpus):  # is read when it is asked for
            list(found)

    with pytest.raises(HeadscopeError) as error:
        done()
    assert isinstance(error.value, kind), repr(error.value)
    said = str(error.value)
    assert words in said
    assert "\n" not in said
    assert len(said) < 5400 if "x" * 5000 in said else len(said) < 900


@pytest.mark.parametrize(("name", "parameter", "value", "words"), list(one_by_one()))
def test_one_argument_is_wrong(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, parameter: str, value: object, words: str
) -> None:
    monkeypatch.chdir(folder)
    check(lambda: function_of(name)(**{**CALLS[name](scene()), parameter: value}), InputError, words)


IDS: list[tuple[Any, str]] = [
    (5, "a dict"),
    ({}, "such as input_ids"),
    ({5: [[1]]}, "a string, found 5"),
    ({"input_ids": 5}, "an array with a batch axis"),
    ({"input_ids": [5, 6], "attention_mask": [1]}, "the shape (1, 2) of input_ids, found (1, 1)"),
    ({"input_ids": [[5, 6]], "attention_mask": [1]}, "the shape (1, 2) of input_ids, found (1, 1)"),
    ({"input_ids": [[1.5, 2.5]]}, "whole numbers [batch token]"),
    ({"input_ids": [["a"]]}, "an array of numbers"),
    ({"input_ids": [[HUGE]]}, "an array of numbers"),
    ({"input_ids": [[10**9]]}, "from 0 to 369, as RobertaForMaskedLM has, found 1000000000"),
    ({"input_ids": [[-1]]}, "from 0 to 369"),
    ({"input_ids": [[]]}, "whole numbers [batch token], at least one"),
    ({"input_ids": np.zeros((0, 3), int)}, "at least one"),
    ({"input_ids": [[[1, 2]]]}, "can run on"),
    ({"input_ids": [[1, 2], [3]]}, "rows of one length"),
    ({"input_ids": None}, "an array of numbers"),
    ({"input_ids": [[True, False]]}, "whole numbers"),
    ({"input_ids": {1: 2}}, "an array of numbers"),
    ({"input_ids": [[1 + 2j]]}, "an array of numbers"),
    ({"input_ids": torch.zeros(1, 2)}, "whole numbers"),
    ({"input_ids": Odd()}, "an array of numbers"),
    ({"nope": [[1]]}, "can run on, found nope (1, 1)"),
    ({"attention_mask": [[1, 1]]}, "can run on"),
    ({"input_ids": [[1, 2]], "attention_mask": [[1]]}, "the shape (1, 2) of input_ids, found (1, 1)"),
    ({"input_ids": [[1, 2]], "attention_mask": [[1, 1], [1, 1]]}, "rows differ"),
    ({"input_ids": [[1, 2]], "labels": [[1]]}, "can run on"),
    ({"input_ids": [[1, 2]], "token_type_ids": [[9, 9]]}, "token_type_ids: expected from 0 to 1"),
    ({"input_ids": [[1, 2]], "position_ids": [[999, 999]]}, "can run on"),
]  # fmt: skip


@pytest.mark.parametrize(
    "function", ["capture", "gradients", "view", "contribution.norms", "contribution.relevance"]
)
@pytest.mark.parametrize(
    ("inputs", "words"), IDS, ids=lambda value: "" if isinstance(value, str) else str(value)[:40]
)
def test_inputs_that_no_model_takes(function: str, inputs: Any, words: str) -> None:
    check(lambda: function_of(function)(scene().model, inputs=inputs), InputError, words)


TEXTS: list[tuple[Any, str]] = [
    (5, "a string, (A, B)"),
    (b"x", "a string, (A, B)"),
    (["a", "b"], "text[0]: expected a message"),
    (("a",), "a string, (A, B)"),
    (("a", 5), "a string"),
    ([{}], "{'role': …"),
    ([], "at least one message"),
    ("", "at least one token"),
    ("ab\ud800", "half a surrogate pair"),
    ("a" * 5000, "takes at most 198"),
    (hs.Tokens(["a", "b"]), "tokens with ids"),
    (hs.Tokens(["a"], ids=[10**9]), "ids below 370, the rows of the model's embedding"),  # type: ignore[arg-type]
    (hs.Tokens(["a"], ids=[-1]), "from 0 to 369"),  # type: ignore[arg-type]
    (hs.Tokens([], ids=[]), "at least one"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize("function", ["capture", "gradients", "view", "contribution.norms"])
@pytest.mark.parametrize(("text", "words"), TEXTS, ids=lambda value: str(value)[:30])
def test_texts_that_are_none(function: str, text: Any, words: str) -> None:
    check(lambda: function_of(function)(scene().model, text), InputError, words)


def edited(change: Any) -> Callable[[SimpleNamespace], Any]:
    def call(of: SimpleNamespace) -> Any:
        with hs.edit(of.model, change):
            return hs.capture(of.model, TEXT)

    return call


def ablated(*heads: Any) -> Callable[[SimpleNamespace], Any]:
    def call(of: SimpleNamespace) -> Any:
        with hs.ablate(of.model, *heads):
            return hs.capture(of.model, TEXT)

    return call


def slopes(objective: Any) -> Callable[[SimpleNamespace], Any]:
    return lambda of: hs.gradients(of.model, TEXT, objective)


def shown(**given: Any) -> Callable[[SimpleNamespace], Any]:
    return lambda of: bertviz.head_view(**{"attention": of.even, "tokens": list("abc"), **given})


def neurons(**given: Any) -> Callable[[SimpleNamespace], Any]:
    options: dict[str, Any] = {"model_type": "", "sentence_a": "a b", "html_action": "return", **given}
    return lambda of: neuron_view.show(**{"model": of.model.module, "tokenizer": of.tokenizer, **options})


EVEN = np.full((1, 1, 2, 2), 0.5)
PLAIN: list[tuple[str, Callable[[SimpleNamespace], Any], type[HeadscopeError], str]] = [
    ("load-number", lambda _: hs.load(5), InputError, "a path, a torch module"),  # type: ignore[arg-type]
    ("load-list", lambda _: hs.load([]), InputError, "a path, a torch module"),  # type: ignore[arg-type]
    ("load-tuple", lambda of: hs.load((of.model.module, 5)), InputError, "expected (nn.Module, tokenizer), found"),
    ("load-three", lambda of: hs.load((of.model.module, None, 1)), InputError, "expected"),  # type: ignore[arg-type]
    ("load-name", lambda _: hs.load("a@b@c"), ModelError, "expected a folder, or a hub name"),
    ("load-revision", lambda of: hs.load(of.model.module, revision="x"), InputError, "the name of a model on the hub beside it, found a module"),
    ("load-folder-revision", lambda _: hs.load("gpt2", revision="x"), InputError, "the name of a model on the hub beside it, found gpt2"),
    ("vectors", lambda of: hs.probe(of.model, of.trees, of.trees, vectors="none"), InputError, "a file of word vectors"),
    ("differing", lambda of: hs.compare.groups(of.model, hs.corpora.pairs("pairs.tsv"), measures=["previous"]).differing(2), InputError, "between 0 and 1"),
    ("edit-number", edited(5), InputError, "expected a function, WhatIf or a string, found 5"),
    ("edit-nothing", edited(lambda: None), InputError, "a function of an AttentionRecord, found one that takes ()"),
    ("edit-returns-number", edited(lambda record: 5), InputError, "a tensor of floats [batch head query key] or None"),
    ("edit-returns-array", edited(lambda record: record.weights().numpy()), InputError, "a tensor of floats"),
    ("edit-returns-record", edited(lambda record: record), InputError, "a tensor of floats"),
    ("edit-returns-longs", edited(lambda record: record.weights().long()), InputError, "found torch.int64"),
    ("edit-returns-complex", edited(lambda record: record.weights().to(torch.complex64)), InputError, "a tensor of floats"),
    ("edit-returns-nan", edited(lambda record: record.weights() * NAN), InputError, "finite weights"),
    ("edit-returns-shape", edited(lambda record: torch.zeros(2)), RefusedError, "expected [batch head query key] (1, 4, 7, 7)"),
    ("edit-returns-row", edited(lambda record: record.weights()[0]), RefusedError, "expected [batch head query key]"),
    ("ablate-none", ablated(), InputError, "heads: expected at least one"),
    ("ablate-number", ablated(5), InputError, "a head such as Head(7, 9) or 'L7H9'"),
    ("ablate-list", ablated(["L0H1"]), InputError, "a head such as Head(7, 9) or 'L7H9'"),
    ("ablate-letters", ablated("x"), InputError, "expected a head such as 'L7H9'"),
    ("ablate-layer", ablated("L99H0"), InputError, "no such head"),
    ("ablate-head", ablated("L0H99"), InputError, "it has 4"),
    ("objective-number", slopes(lambda output: 1.0), InputError, "a tensor with one number, found float"),
    ("objective-none", slopes(lambda output: None), InputError, "a tensor with one number"),
    ("objective-many", slopes(lambda output: output[0]), InputError, "a scalar, found shape (1, 7, 370)"),
    ("objective-constant", slopes(lambda output: torch.tensor(1.0)), InputError, "depends on the weights"),
    ("objective-place", slopes(lambda output: output[0].argmax().float()), InputError, "depends on the weights"),
    ("objective-attribute", slopes(lambda output: output.nope), InputError, "found one that fails (AttributeError"),
    ("objective-key", slopes(lambda output: output["nope"]), InputError, "found one that fails (KeyError"),
    ("objective-arguments", slopes(lambda: 1), InputError, "found one that fails (TypeError"),
    ("objective-name", slopes("cosine"), InputError, "a function, found 'cosine'"),
    ("importance-constant", lambda of: hs.contribution.importance(of.model, of.corpus, objective=lambda _: torch.tensor(1.0)), InputError, "depends on the weights"),
    ("view-objective", lambda of: hs.view(of.model, TEXT, objective=lambda _: torch.tensor(1.0)), InputError, "depends on the weights"),
    ("ablation-head", lambda of: hs.contribution.ablation(of.model, of.corpus, heads=["L0H99"]), InputError, "this model has no L0H99"),
    ("ablation-heads", lambda of: hs.contribution.ablation(of.model, of.corpus, heads="L0H0"), InputError, "a list, each a head"),
    *[(f"maps-{place}", lambda of, key=key: of.maps[key], InputError, "expected a") for place, key in enumerate(
        [0, None, 1.5, (0,), (0, 1, 2), slice(0, 1), np.int64(0), [0, 1], (0, 1.5), (True, False), ("a", "b")])],
    ("maps-layer", lambda of: of.maps["L9H0"], InputError, "no layer 9"),
    ("maps-head", lambda of: of.maps["L0H9"], InputError, "no head 9"),
    ("take-number", lambda of: of.maps.take(5), InputError, "query: expected"),
    ("take-list", lambda of: of.maps.take([0]), InputError, "query: expected"),
    ("take-short", lambda of: of.maps.take(np.array([True])), ShapeError, "a slice or a mask of 7"),
    ("take-places", lambda of: of.maps.take(np.array([1])), ShapeError, "a slice or a mask of 7"),
    ("words-rows", lambda of: of.maps.words("x"), InputError, "mean or first"),
    ("sight-far", lambda of: of.maps.sight(99), InputError, "a layer from 0 to 1"),
    ("sight-letter", lambda of: of.maps.sight("x"), InputError, "a whole number"),
    ("between-letters", lambda of: of.maps.between("a", "b"), InputError, "0 or 1"),
    *[(f"maps-save-{place}", lambda of, path=path: of.maps.save(path), InputError, words) for place, (path, words) in enumerate(
        [(5, "expected"), (None, "expected"), (b"x", "expected"), ("none/x", "no such folder"), (".", "a folder"),
         ("x" * 5000, "File name too long"), ("a\0", "cannot be written")])],
    *[(f"open-maps-{place}", lambda _, path=path: hs.open_maps(path), InputError, "expected") for place, path in enumerate(
        [5, None, b"x", "none", ".", "a\0b", "x" * 300, "wiki.txt", "gpt2/model.safetensors"])],
    *[(f"tokens-{name}-{place}", lambda _, name=name, value=value: hs.Tokens(["a", "b"], **{name: value}), ShapeError, "expected") for name in
        ("ids", "offsets", "word_ids", "sequence_ids", "special_mask") for place, value in enumerate(
        [5, "x", [1], ["a", "b"], [None, None], [NAN, 1], [HUGE, 1], [1.5, 2.5], [[1, 2, 3]] * 2, [[1], [2, 3]], Odd()])],
    *[(f"classes-{place}", lambda _, value=value: hs.Tokens(["a"], classes=value), InputError, "a dict") for place, value in enumerate(
        [5, "x", [1], Odd()])],
    *[(f"pieces-{place}", lambda _, value=value: hs.Tokens(value), InputError, "expected") for place, value in enumerate(
        [5, None, "x", [5], ["a", None]])],
    *[(f"head-{place}", lambda _, value=value: hs.Head.parse(value), InputError, "expected") for place, value in enumerate(
        [5, None, b"L0H0", [], "", "L", "LxHy"])],
    ("head-base", lambda _: hs.Head.parse("1-1", base=2), InputError, "0 or 1"),
    *[(f"wrap-{place}", lambda _, value=value: hs.wrap(value, ["a", "b"]), InputError, "expected") for place, value in enumerate(
        [5, None, "x", [], [[1]], np.zeros((2, 2)), np.ones((1, 1, 2, 2)), -EVEN, [None], {}, EVEN.astype(complex),
         [["a"]], EVEN.astype(object), EVEN[..., :1], Odd()])],
    *[(f"wrap-tokens-{place}", lambda _, value=value: hs.wrap(EVEN, value), InputError, "expected") for place, value in enumerate(
        [5, None, "ab", ["a"], [1, 2], {}])],
    *[(f"wrap-visible-{place}", lambda _, value=value: hs.wrap(EVEN, ["a", "b"], visible=value), InputError, "expected") for place, value in enumerate(
        [5, [], {}, "x", np.zeros(2), [5], [None], np.ones((3, 3))])],
    *[(f"view-state-{place}", lambda of, state=state: hs.view(of.maps, **state), InputError, words) for place, (state, words) in enumerate([
        ({"layer": 99}, "layer takes 0, 1"), ({"layer": "x"}, "layer takes"), ({"heads": [99]}, "heads takes 0 to 3"),
        ({"heads": 5}, "heads takes"), ({"scale": "x"}, "'model', 'head' or 'neuron'"), ({"nope": 1}, "allowed: "),
        ({"quantities": ["x"]}, "expected 'gradient' and 'norm'"), ({"quantities": {"x": 5}}, "expected"),
        ({"include_layers": [9]}, "no layer 9"), ({"include_heads": [9]}, "expected heads from 0 to 3"),
        ({"measures": 5}, "a result of headscope")])],
    ("view-no-text", lambda of: hs.view(of.model), InputError, "a text or inputs="),
    *[(f"view-save-{place}", lambda of, path=path: hs.view(of.maps).save(path), HeadscopeError, words) for place, (path, words) in enumerate([
        (5, "a path"), (None, "a path"), (b"x", "a path"), ("x.jpg", "a file that ends in"), ("none/x.html", "no such folder"),
        ("a\0.html", "cannot be written"), ("x" * 400 + ".html", "File name too long")])],
    *[(f"result-save-{place}", lambda of, path=path: of.stats.save(path), HeadscopeError, words) for place, (path, words) in enumerate([
        (5, "a path"), (None, "a path"), (b"x", "a path"), ("x.jpg", "a name that ends in"), ("none/x.csv", "no such folder"),
        ("a\0.csv", "cannot be written"), ("x" * 400 + ".csv", "File name too long")])],
    *[(f"result-{place}", lambda _, value=value: hs.table(value), InputError, "a result of headscope") for place, value in enumerate(
        [5, None, "x", {}, []])],
    ("figure-name", lambda of: hs.figure(of.stats, "x"), InputError, "expected previous, found 'x'"),
    ("figure-names", lambda of: hs.figure(of.stats, []), InputError, "some of previous, found none"),
    ("figure-number", lambda of: hs.figure(of.stats, 5), InputError, "expected"),  # type: ignore[arg-type]
    ("figure-width", lambda of: hs.figure(of.stats, width=5000), InputError, "'column', 'page' or inches"),
    *[(f"model-{name}-{place}", lambda of, name=name, value=value: getattr(of.model, name)(value), InputError, "expected") for name, values in
        {"encode": [5, None, ""], "from_words": [5, "x", [], [5], [""]], "from_pieces": [5, "x", [], [5], ["qwert"]],
         "chat": [5, [], [5]], "count": ["x", 5, [5]]}.items() for place, value in enumerate(values)],
    ("model-split", lambda of: of.model.split("a b", "x"), InputError, "a whole number"),
    ("example-tokens", lambda of: hs.measure(of.model, [hs.corpora.Example(tokens="x")]), InputError, "expected Tokens or None"),  # type: ignore[arg-type]
    ("example-ids", lambda of: hs.measure(of.model, [hs.corpora.Example(tokens=hs.Tokens(["a"], ids=[10**6]))]), RunError, "document 0: RobertaForMaskedLM: expected ids below 370"),  # type: ignore[arg-type]
    ("encoded", lambda of: of.corpus.encoded(5), InputError, "one from hs.load"),
    ("encoded-length", lambda of: of.corpus.encoded(of.model, max_length="x"), InputError, "a whole number"),
    ("merge-string", lambda _: hs.merge("a.nc"), InputError, "a list, each a path"),
    ("merge-none", lambda _: hs.merge([]), InputError, "at least one file"),
    ("measure-name", lambda _: hs.pair_measure("two words", "x"), InputError, "a name of letters, digits and _"),
    ("measure-number", lambda _: hs.pair_measure(5, "x"), InputError, "a string"),  # type: ignore[arg-type]
    ("training-one", lambda of: hs.compare.training([of.model], of.corpus), InputError, "at least two"),
    ("training-number", lambda of: hs.compare.training(5, of.corpus), InputError, "expected"),  # type: ignore[arg-type]
    ("report-section", lambda of: hs.report(of.model, of.corpus, sections=["x"]), InputError, "expected some of"),
    ("report-examples", lambda of: hs.report(of.model, of.corpus, examples=-1), InputError, "at least 0"),
    ("texts-string", lambda _: hs.corpora.texts("a b"), InputError, "a list, each"),
    ("texts-number", lambda _: hs.corpora.texts([5]), InputError, "a string or (a string, a string)"),  # type: ignore[list-item]
    ("pairs-suffix", lambda _: hs.corpora.pairs("x.doc"), InputError, "a name that ends in"),
    ("pairs-column", lambda _: hs.corpora.pairs("pairs.tsv", label="x"), CorpusError, "expected a column 'x'"),
    ("rollout", lambda _: hs.contribution.rollout(5), InputError, "maps: expected"),  # type: ignore[arg-type]
    *[(f"bertviz-{place}", shown(**given), InputError, words) for place, (given, words) in enumerate([
        ({"attention": 5}, "expected"), ({"tokens": 5}, "a list, each a string"), ({"tokens": "abc"}, "a list, each a string"),
        ({"tokens": ["a"]}, "expected 1 entries"), ({"tokens": [1, 2, 3]}, "a string"), ({"layer": 9}, "layer takes 0, 1"),
        ({"layer": "x"}, "a whole number"), ({"heads": 5}, "a list"), ({"heads": [9]}, "heads takes 0, 1"),
        ({"sentence_b_start": "x"}, "a whole number"), ({"sentence_b_start": 99}, "a position from 1 to 2"),
        ({"include_layers": [9]}, "no layer 9"), ({"include_layers": 5}, "a list"), ({"html_action": "x"}, "view or return"),
        ({"prettify_tokens": "x"}, "True or False"), ({"attention": [5]}, "expected")])],
    *[(f"neuron-view-{place}", neurons(**given), HeadscopeError, words) for place, (given, words) in enumerate([
        ({"model": 5}, "expected (nn.Module, tokenizer)"), ({"tokenizer": 5}, "expected (nn.Module, tokenizer)"),
        ({"sentence_a": 5}, "a string"), ({"display_mode": "x"}, "dark or light"), ({"layer": 99}, "layer takes"),
        ({"head": "x"}, "a whole number"), ({"tokenizer": None}, "no tokenizer")])],
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), [pytest.param(*each[1:], id=each[0]) for each in PLAIN])
def test_a_call_that_cannot_be_done(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    call: Callable[[SimpleNamespace], Any],
    kind: type[HeadscopeError],
    words: str,
) -> None:
    monkeypatch.chdir(folder)
    check(lambda: call(scene()), kind, words)


def test_there_are_many() -> None:
    assert len(list(one_by_one())) + 5 * len(IDS) + 4 * len(TEXTS) + len(PLAIN) >= 600


def test_what_a_callers_function_raises_is_the_callers() -> None:
    """A hook may end a pass by an error of its own."""

    class EnoughError(Exception):
        pass

    def stop(_: Any) -> Any:
        raise EnoughError

    for run in (hs.capture, hs.gradients, hs.contribution.norms):
        with pytest.raises(EnoughError), hs.edit(scene().model, stop):
            run(scene().model, TEXT)


def test_a_frozen_model_has_gradients() -> None:
    model = scene().model
    before = hs.gradients(model, TEXT)["self"]
    try:
        model.module.requires_grad_(False)
        after = hs.gradients(model, TEXT)["self"]
    finally:
        model.module.requires_grad_(True)
    for one, other in zip(before, after, strict=True):
        assert one.any()
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_more_text_than_there_is_room_for(folder: Path) -> None:
    model = hs.load(str(folder / "gpt2"))
    check(
        lambda: hs.generate(model, "a b", max_new_tokens=10**9), InputError, "expected what gpt2 can run on"
    )


@pytest.mark.parametrize(
    "error",
    [MemoryError("Unable to allocate 5.8 TiB"), RuntimeError("DefaultCPUAllocator: not enough memory")],
)
def test_no_memory_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    model, corpus = scene().model, scene().corpus
    monkeypatch.setattr(model.module.roberta.encoder, "forward", fail)
    said = f"not enough memory ({error}); use smaller batches, fewer inputs or a smaller model"
    check(lambda: hs.capture(model, TEXT), RunError, f"RobertaForMaskedLM: {said}")
    check(lambda: hs.measure(model, corpus, measures=["previous"]), RunError, f"texts[1]: {said}")
