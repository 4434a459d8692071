"""Gradients and norms in place of weights: against autograd and the plain formula, and what must not matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.attention.neurons import norms
from headscope.attention.objective import hidden, objective
from headscope.core.tokens import Tokens
from headscope.errors import InputError, RefusedError
from headscope.measures.choose import choose
from headscope.measures.dataset import table
from headscope.models import Model
from headscope.runs import task as passes
from headscope.runs.task import Task
from tests.helpers.families import build, corpus_of, family, half_square
from tests.helpers.small_models import sizes
from tests.helpers.small_tokenizers import demo

NAMES = ["previous", "current", "first", "to_sep", "largest"]


def inputs(*lengths: int) -> list[Tokens]:
    draw = np.random.default_rng(1)
    found: list[Tokens] = []
    for length in lengths:
        classes = {"sep": np.arange(length) % 4 == 3}
        found.append(Tokens(["x"] * length, ids=draw.integers(3, 119, length), classes=classes))
    return found


def autograd(module: torch.nn.Module, tokens: Tokens) -> np.ndarray:
    """``|∂L/∂α|`` of one input, ``[layer head query key]``, from what an eager model itself returns."""
    ids = torch.tensor(np.array(tokens.ids))[None]
    module.eval()
    output = module(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True)
    maps = output.attentions
    slopes = torch.autograd.grad(half_square(output), maps)
    return np.stack([slope[0].abs().numpy() for slope in slopes])


def by_hand(matrix: np.ndarray, tokens: Tokens, causal: bool, names: Sequence[str] = NAMES) -> np.ndarray:
    """Sums over the rows that count, ``[measure layer head]``, written from the definitions."""
    count = matrix.shape[-1]
    found: list[np.ndarray] = []
    for name in names:
        total = np.zeros(matrix.shape[:2])
        for row in range(count):
            values = matrix[..., row, :]
            if name == "previous":
                total += values[..., row - 1] if row else 0.0
            elif name == "current":
                total += values[..., row]
            elif name == "first":
                total += 0.0 if causal and row == 0 else values[..., 0]
            elif name == "to_sep":
                total += values[..., tokens.classes["sep"]].sum(-1)
            else:
                total += values.max(-1)
        found.append(total)
    return np.stack(found)


FAMILIES = ["BERT", "ALBERT", "GPT-2", "Llama", "Mistral", "Gemma 2", "gpt-oss", "T5", "BART"]
TRACED = ["DeBERTa-v2", "BLOOM", "GPT-J", "GPT-Neo", "MPT", "XLM"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES + TRACED)
def test_gradients_equal_autograd_through_the_eager_model(name: str) -> None:
    model = Model(build(family(name)))
    causal = family(name).cls.endswith(("LM", "LMHeadModel"))
    model.checked = type("Checked", (), {"causal": causal, "same_length": False})
    corpus = inputs(9, 12, 7)
    task = Task(
        model, choose([f"gradient_{each}" for each in NAMES]), objective=objective(model, half_square)
    )
    found = task.run(corpus)
    module = model.backbone if model.encoder_decoder else model.module
    for place, tokens in enumerate(corpus):
        slopes = autograd(module, tokens)
        if model.causal:
            slopes = np.tril(slopes)
        if name in ("Mistral", "Gemma 2", "gpt-oss", "GPT-Neo"):  # keys out of the window are not seen
            maps = hs.capture(Model(module), inputs={"input_ids": np.array(tokens.ids)[None]})
            slopes = slopes * (maps.weights > 0)
        expected = by_hand(slopes, tokens, model.causal)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found.sums[place] / scale, expected / scale, atol=1e-5)
    assert np.isnan(found.chance).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BERT", "GPT-2", "Llama", "gpt-oss", "T5", "DeBERTa-v2", "BLOOM"])
def test_norms_are_shares_that_padding_does_not_change(name: str) -> None:
    model = Model(build(family(name)))
    corpus = inputs(9, 12)
    task = Task(model, choose(["norm_to_sep", "norm_previous"]))
    together = task.run(corpus)
    for place, tokens in enumerate(corpus):
        alone = task.run([tokens])
        np.testing.assert_allclose(together.sums[place], alone.sums[0], atol=2e-5)
        if not model.encoder_decoder:
            whole = np.stack(norms(model, inputs={"input_ids": np.array(tokens.ids)[None]})["self"])
            shares = whole / whole.sum(-1, keepdims=True)
            expected = by_hand(shares, tokens, model.causal, ["to_sep", "previous"])
            np.testing.assert_allclose(alone.sums[0], expected, atol=2e-5)
    everything = [
        Tokens(each.pieces, ids=each.ids, classes={"sep": np.ones(len(each), bool)}) for each in corpus
    ]
    sums = task.run(everything).sums[:, 0]
    np.testing.assert_allclose(sums, np.array([9.0, 12.0])[:, None, None] + np.zeros(sums.shape), atol=1e-4)


def test_a_model_whose_projection_is_hidden_has_no_norms() -> None:
    module = build(family("BERT"))
    for layer in module.encoder.layer:
        layer.attention.output.dense.register_forward_pre_hook(lambda _, args: (args[0] * 2,), prepend=True)
    with pytest.raises(RefusedError, match="its output projection could not be told"):
        Task(Model(module), choose(["norm_previous"])).run(inputs(5))


def test_the_parts_of_a_batch_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(build(family("BERT")))
    corpus = inputs(9, 12, 7, 8)
    task = Task(model, choose(["gradient_to_sep", "previous", "norm_previous"]))
    whole = task.run(corpus)
    monkeypatch.setattr(passes, "GRADIENT_WEIGHTS", 1)
    assert passes.parts(model, corpus) == [slice(place, place + 1) for place in range(4)]
    monkeypatch.setattr(passes, "GRADIENT_WEIGHTS", 10**9)
    assert passes.parts(model, corpus) == [slice(0, 4)]
    monkeypatch.setattr(passes, "LARGE", 100)
    assert len(passes.parts(model, corpus)) == 4  # of a large model each input is alone
    apart = task.run(corpus)
    np.testing.assert_allclose(whole.sums, apart.sums, atol=1e-5)
    assert np.isfinite(whole.chance[:, 1]).all()
    assert np.isnan(whole.chance[:, [0, 2]]).all()


def test_a_model_whose_weights_are_frozen_has_gradients() -> None:
    module = build(family("BERT"))
    task = Task(Model(module), choose(["gradient_to_sep"]))
    expected = task.run(inputs(9)).sums
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    np.testing.assert_allclose(task.run(inputs(9)).sums, expected, rtol=1e-5)


def test_weights_are_measured_as_before_beside_other_matrices() -> None:
    model = hs.load(build(family("BERT")))
    corpus = corpus_of(inputs(9, 12, 7))
    alone = hs.measure(model, corpus, measures=["previous", "entropy"])
    beside = hs.measure(model, corpus, measures=["norm_previous", "previous", "gradient_previous", "entropy"])
    for name in alone.data_vars:
        np.testing.assert_array_equal(alone[name], beside[name])
    assert not np.allclose(beside["gradient_previous"], beside["previous"])
    rows = table(beside)
    assert rows[rows.measure == "gradient_previous"].chance.isna().all()
    assert rows[rows.measure == "previous"].chance.notna().all()
    assert rows[rows.measure == "gradient_previous"].se.notna().all()


@pytest.mark.slow
def test_batch_size_does_not_matter(demo: Model) -> None:
    texts = ["The cat sat.", "It was a long and winding road, they said.", "Rain.", "She reads every day."]
    corpus = corpus_of([demo.encode(text, "And then?") for text in texts])
    names = ["gradient_sep", "norm_sep", "gradient_previous"]
    found, expected = (hs.measure(demo, corpus, measures=names, batch_size=size) for size in (1, 3))
    for name in found.data_vars:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-6)


def test_a_checkpoint_is_of_one_objective(tmp_path: Path) -> None:
    model, corpus = hs.load(build(family("BERT"))), corpus_of(inputs(9, 12, 7))
    names = ["gradient_to_sep", "previous"]
    first = hs.measure(model, corpus, measures=names, objective=half_square, resume=tmp_path)
    again = hs.measure(model, corpus, measures=names, objective=half_square, resume=tmp_path)
    np.testing.assert_array_equal(first.gradient_to_sep, again.gradient_to_sep)
    assert json.loads(first.attrs["meta"])["objective"] == "half_square"
    with pytest.raises(InputError, match="objective"):
        hs.measure(model, corpus, measures=names, objective="natural", resume=tmp_path)


def masked_model() -> Model:
    """A small masked language model with the demo model's tokenizer."""
    import transformers

    torch.manual_seed(0)
    tokenizer = demo()
    config = transformers.BertConfig(vocab_size=len(tokenizer), **sizes(inner=48))
    return hs.load((transformers.BertForMaskedLM(config).eval(), tokenizer))


def test_masked_loss_is_that_of_the_model_with_labels() -> None:
    model = masked_model()
    of = objective(model)
    assert of.name == "masked-lm"
    texts = [model.encode("The cat sat on the mat and looked at the moon."), model.encode("It rained.")]
    with torch.no_grad():
        numbers = of.prepare(texts).run()
    for number, tokens in zip(numbers, texts, strict=True):
        hide = hidden(tokens, 0)
        assert hide.sum() == max(1, round(0.15 * (~tokens.special_mask).sum()))
        assert not (hide & tokens.special_mask).any()
        ids = torch.tensor(np.array(tokens.ids))[None]
        labels = ids.clone().masked_fill(~torch.tensor(hide), -100)
        shown = ids.masked_fill(torch.tensor(hide), model.tokenizer.mask_token_id)
        with torch.no_grad():
            expected = model.module(input_ids=shown, labels=labels).loss
        np.testing.assert_allclose(number, expected, rtol=1e-5)
    assert of.description == "the loss on 15% of the tokens, masked"
    other = [hidden(tokens, 1) for tokens in texts]
    assert any((one != hidden(tokens, 0)).any() for one, tokens in zip(other, texts, strict=True))


def test_causal_loss_is_that_of_the_model_with_labels(stories: Model) -> None:
    of = objective(stories, "causal-lm")
    texts = [stories.encode("Once upon a time there was a cat."), stories.encode("The end.")]
    with torch.no_grad():
        numbers = of.prepare(texts).run()
        for number, tokens in zip(numbers, texts, strict=True):
            ids = torch.tensor(np.array(tokens.ids))[None]
            np.testing.assert_allclose(number, stories.module(input_ids=ids, labels=ids).loss, rtol=1e-4)


def test_a_class_logit() -> None:
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(**family("BERT").config, num_labels=3)
    module = transformers.BertForSequenceClassification(config).eval()
    model = Model(module)
    corpus = inputs(9, 12)
    with torch.no_grad():
        found = objective(model, "logit:2").prepare(corpus).run()
        for number, tokens in zip(found, corpus, strict=True):
            logits = module(input_ids=torch.tensor(np.array(tokens.ids))[None]).logits
            np.testing.assert_allclose(number, logits[0, 2], rtol=1e-5)
        with pytest.raises(InputError, match="expected a class below 3, found logit:3"):
            objective(model, "logit:3").prepare(corpus).run()


def test_the_cosine_of_a_pair(demo: Model) -> None:
    of = objective(demo, "cosine")
    pair = demo.encode("The cat sat.", "It was tired, I think.")
    longer = demo.encode("A much longer text stands beside it in the batch.", "It pads the other one.")
    with torch.no_grad():
        number = of.prepare([pair, longer]).run()[0]
        hiddens = demo.module(**demo.inputs([pair])).last_hidden_state[0]
    assert pair.sequence_ids is not None
    a, b = (hiddens[pair.sequence_ids == side].mean(0) for side in (0, 1))
    np.testing.assert_allclose(number, torch.cosine_similarity(a, b, dim=0), rtol=1e-5)
    with pytest.raises(
        InputError,
        match=r"cosine: expected the cosine of the two texts read together, but '\[CLS\] one text . \[SEP\]' … has half",
    ):
        of.prepare([demo.encode("One text.")]).run()


def test_all_inputs_have_one_natural_number(demo: Model) -> None:
    """Pairs among single texts have what these have; alone as well, so that shards agree."""
    single, pair = demo.encode("One text."), demo.encode("The cat sat.", "It was tired.")
    of = objective(demo)
    with torch.no_grad():
        numbers = of.prepare([single, pair]).run()
        alone = objective(demo).prepare([pair]).run()
        hidden = demo.module(**demo.inputs([pair])).last_hidden_state[0]
    np.testing.assert_allclose(numbers[1], hidden.mean(0).square().sum() / 2, rtol=1e-5)
    np.testing.assert_allclose(numbers[1], alone[0], rtol=1e-5)
    assert of.description == "half the squared norm of the mean hidden state"
    corpus = hs.corpora.texts([("The cat sat.", "It was tired."), "One text."])
    result = hs.measure(demo, corpus, measures=["gradient_sep"])
    assert json.loads(result.attrs["meta"])["objective"] == of.description


def test_an_input_without_the_number_of_the_others_is_refused(stories: Model) -> None:
    """One token has no next one, so no loss."""
    of = objective(stories)
    short = stories.encode("Once upon a time").take(slice(0, 1))
    with pytest.raises(
        InputError, match=r"^objective: natural: expected the loss on the input, but '<s>' … has the largest"
    ):
        of.prepare([stories.encode("Once upon a time"), short]).run()
    of.say("the loss on the input", short)
    with pytest.raises(
        InputError,
        match=r"^objective: expected the loss on the input, as of the inputs before, but '<s>' … has x: ",
    ):
        of.say("x", short)
