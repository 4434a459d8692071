"""Models as graphs for a page: what is exported, what is refused, and what rounding weights does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import headscope as hs
from headscope.attention.one import prepare
from headscope.errors import InputError, RefusedError
from headscope.live import standalone as standalone
from headscope.live.graph import Graphs, graphs, refusal
from headscope.live.standalone import Runner, carry, rounded_rows
from headscope.models import Model
from headscope.views.blobs import Blobs, decode
from tests.helpers.small_models import sharpen, translator
from tests.helpers.small_tokenizers import byte_level
from tests.helpers.small_tokenizers import demo as wordpiece

pytestmark = pytest.mark.slow

TEXT = "The cat sat on the mat."
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def made(config: Any, kind: Any = transformers.AutoModel, tokenizer: Any = None) -> Model:
    torch.manual_seed(0)
    return hs.load((sharpen(kind.from_config(config).eval()), tokenizer or wordpiece()))


def encoder(**more: Any) -> Model:
    config = transformers.BertConfig(
        vocab_size=len(wordpiece()), **SIZE, intermediate_size=64, max_position_embeddings=64, **more
    )
    return made(config)


@cache
def exported() -> tuple[Model, Graphs]:
    """A model and its graph, made once."""
    model = encoder()
    return model, graphs(model, prepare(model, TEXT)[1])


def test_segments_give_the_weights_of_the_model_at_any_length() -> None:
    model, whole = exported()
    assert [each["layer"] for each in whole.layers] == [0, 1]
    assert len(whole.segments) == 3
    runner = Runner(whole, whole.weights)
    for text in ("It", TEXT, "A dog barked at the cat, and the cat ran up a tree. " * 3):
        maps = hs.capture(model, text)
        for mine, theirs in zip(runner.weights(maps.query), maps.layers, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_shared_weights_stand_in_the_page_once() -> None:
    words = len(byte_level())
    config = transformers.LlamaConfig(
        vocab_size=words, **SIZE, num_key_value_heads=2, intermediate_size=64, tie_word_embeddings=True
    )
    model = made(config, transformers.AutoModelForCausalLM, byte_level())
    whole = graphs(model, prepare(model, TEXT)[1])
    large = [value for value in whole.weights.values() if value.size == words * 32]
    assert len(large) == 1
    # Another place runs the last segment alone.
    assert [place for place, each in enumerate(whole.segments) if "places" in each.inputs] == [2]


def test_what_cannot_be_put_into_a_page_is_told() -> None:
    assert "encoder-decoder" in (refusal(translator()) or "")
    bare = hs.load((encoder().module, None))
    assert refusal(bare) == "its tokenizer has no fast version, which a page could run"
    bloom = transformers.BloomConfig(vocab_size=500, hidden_size=32, n_layer=2, n_head=4)
    with pytest.raises(RefusedError, match="cannot be put into a page: "):
        carry(made(bloom, transformers.AutoModelForCausalLM, byte_level()), {"text": TEXT})
    gemma = transformers.Gemma2Config(
        vocab_size=500,
        **SIZE,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=64,
        attn_logit_softcapping=50.0,
    )
    with pytest.raises(RefusedError, match="has a softcap, which a page does not draw yet"):
        carry(made(gemma, transformers.AutoModelForCausalLM, byte_level()), {"text": TEXT})
    with pytest.raises(InputError, match="takes texts, no conversations"):
        carry(encoder(), {"messages": [{"role": "user", "content": "Hi"}]})


def test_a_large_model_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    model = encoder()
    monkeypatch.setattr(Model, "parameters", property(lambda _: 151_000_000))
    assert refusal(model) == "it has 151 million weights, of at most 150 million"


def test_an_input_is_at_most_so_long_that_its_maps_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    model, whole = exported()
    monkeypatch.setattr(standalone, "graphs", lambda *_: whole)
    monkeypatch.setattr(standalone, "MAPS_BYTES", 2 * 4 * 20 * 20 * 4)  # layers, heads, a map of float32
    assert carry(model, {"text": TEXT})(Blobs())["model"]["info"]["longest"] == 20


def test_a_graph_that_is_not_the_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, whole = exported()

    name = max(whole.weights, key=lambda name: whole.weights[name].size)
    off = whole.weights | {name: whole.weights[name] * 1.1}
    monkeypatch.setattr(standalone, "graphs", lambda *_: replace(whole, weights=off))
    with pytest.raises(RefusedError, match="its exported graph is off by"):
        carry(model, {"text": TEXT})


@given(arrays(np.float32, (3, 4), elements=st.floats(-100, 100, width=32)), st.sampled_from([0, 1]))
@example(np.full((3, 4), 2.5e-43, np.float32), 0)  # a step that float32 could not hold
@np.errstate(all="raise", under="ignore")
def test_rounded_rows_are_off_by_half_a_step_at_most(matrix: Any, axis: int) -> None:
    codes, scale = rounded_rows(matrix, axis)
    restored = codes * np.expand_dims(scale, 1 - axis)
    step = np.expand_dims(scale, 1 - axis)
    assert (np.abs(restored - matrix) <= 0.5001 * step).all()
    assert codes.min() >= -127
    assert (np.sign(codes) * np.sign(matrix) >= 0).all()


@pytest.mark.parametrize("kind", ["int8", "float16", "float32"])
def test_the_page_says_what_its_weights_do(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, whole = exported()
    monkeypatch.setattr(standalone, "graphs", lambda *_: whole)
    blobs = Blobs()
    found = carry(model, {"text": TEXT}, weights=kind)(blobs)["model"]
    rounded = found["rounded"]
    assert rounded["texts"] == 9
    assert {each["kind"] for each in found["weights"] if len(each["shape"]) == 2} == {kind}
    if kind == "float32":
        assert (rounded["largest"], rounded["mean"], rounded["same"]) == (0, 0, 1)
    else:
        assert 0 < rounded["mean"] < rounded["largest"] < (0.2 if kind == "int8" else 0.01)
        assert 0.5 < rounded["same"] <= 1
    one = next(each for each in found["weights"] if len(each["shape"]) == 2)
    data = decode(one["codes"], blobs.texts).tobytes()
    size = {"int8": 1, "float16": 2, "float32": 4}[kind]
    assert len(data) == size * one["shape"][0] * one["shape"][1]


def test_exploration_is_saved_with_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, whole = exported()
    monkeypatch.setattr(standalone, "graphs", lambda *_: whole)
    exploration = hs.explore(model, TEXT, changes=["L0H1 off"], layer=1)
    path = exploration.save(tmp_path / "page.html")
    assert b'"changes":["L0H1 off"]' in path.read_bytes()
    with pytest.raises(InputError, match=r"expected a file that ends in \.html, found \.png"):
        exploration.save(tmp_path / "page.png")
    exploration._asked["input"] = {}  # what the box held was cleared
    with pytest.raises(InputError, match="Text: type something"):
        exploration.save(tmp_path / "empty.html")


def test_a_stop_from_the_page_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel hears it when it is done: what it stops has ended."""
    exploration, sent = hs.explore(encoder(), TEXT), []
    widget = exploration.widget()
    monkeypatch.setattr(type(widget), "send", lambda _, *answer: sent.append(answer))
    shows = {"kind": "show", "id": 1, "input": {"text": TEXT}, "changes": []}
    for content in ({"kind": "stop", "id": 1}, shows):
        exploration._answer(widget, content, None)
    assert [content["id"] for content, _ in sent] == [1]
    assert sent[0][0]["kind"] != "error"
