"""Which head feeds which: planted compositions are found, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.composition.run import CompositionWork, contrasts
from headscope.analyses.composition.section import LOOKED_AT, SEQUENCES, TOKENS, section
from headscope.analyses.composition.statistics import LEAST
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.study import Study
from headscope.attention.stream import Reader, Who
from headscope.errors import RefusedError
from headscope.models import Model
from headscope.views.blobs import Blobs
from tests.analyses.test_reads import repeats
from tests.helpers.families import build, family
from tests.helpers.planted_induction import PLACES, WORDS, circuit
from tests.helpers.planted_needles import HAY, reader
from tests.helpers.section_blocks import rows


def by_the_query() -> hs.Model:
    """L1H0 looks at the token that stands before its query, as L0H0 wrote it there: Q-composition."""
    model = circuit()
    attention: Any = model.module.transformer.h[1].attn.c_attn
    width = attention.weight.shape[0]
    token, before = torch.arange(WORDS), torch.arange(WORDS) + WORDS + PLACES
    with torch.no_grad():
        attention.weight[:, : 2 * width] = 0.0
        attention.weight[before, token] = 7.5
        attention.weight[token, width + token] = 1.0
    return model


@pytest.mark.parametrize(("make", "kind"), [(circuit, "K"), (by_the_query, "Q")], ids=["K", "Q"])
def test_a_planted_composition_is_the_one_edge(make: Any, kind: str) -> None:
    found = hs.composition(make(), repeats(8))
    (edge,) = found.table().to_dict("records")
    assert (edge["layer"], edge["head"], edge["kind"], edge["writer"]) == (1, 0, kind, "L0H0")
    assert edge["share"] == pytest.approx(1.0, abs=0.05)
    assert edge["ci_low"] > 0.9
    shares = found["share"].values
    others = np.abs(shares[np.isfinite(shares)])
    assert (others > LEAST).sum() == 1


def test_a_contrast_is_of_what_is_attended_to_less_the_mean_key() -> None:
    model = hs.load(build(family("Llama")))
    inputs: Any = repeats(1)[0].tokens
    ready = model.inputs([inputs])
    record = Reader(model, ready).read(ready).calls[1].record
    scores = (record.q[0, 1] @ record.keys[0, 1].T * record.scaling).detach()
    weights = record.weights()[0, 1].detach()
    expected = 0.0
    for query in range(1, len(inputs)):
        keys = slice(1, query + 1)  # that it sees, but the first
        score = scores[query, keys]
        expected += float((weights[query, keys] * (score - score.mean())).sum())
    numbers = contrasts(record, inputs, causal=True).reshape(3, -1)
    assert numbers[:2, 1].tolist() == pytest.approx([expected] * 2, rel=1e-4)


def test_keys_of_a_smaller_type_than_weights_and_values_are_read() -> None:
    found = hs.composition(hs.load(build(family("GPT-J")).double()), repeats(2))  # its scores are in float32
    assert np.isfinite(found["share"].sel(reader="L2H0", writer="L0H0").values).all()


def test_what_is_scored_below_the_others_has_no_shares() -> None:
    model = hs.load(build(family("BLOOM")))  # whose biases let a head attend to what it scores low
    inputs = repeats(1)
    tokens: Any = inputs[0].tokens
    ready = model.inputs([tokens])
    record = Reader(model, ready).read(ready).calls[1].record
    low, high = contrasts(record, tokens, causal=True)[:2].tolist()
    assert low < 0 < high
    shares = hs.composition(model, inputs)["share"].sel(kind="K")
    assert shares.sel(reader="L1H0").isnull().all()
    assert shares.sel(reader="L1H1", writer="L0H0").notnull()


def test_shares_are_those_that_reads_tells() -> None:
    """Of one input: the terms of a head's contrasts by head, over their sum, told one reader at a time."""
    model = hs.load(build(family("Gemma 2")))
    inputs = repeats(1)
    found = hs.composition(model, inputs)["share"]
    assert np.isnan(found.sel(reader="L0H1").values).all()
    assert np.isnan(found.sel(reader="L1H1", writer="L1H0").values).all()
    tokens: Any = inputs[0].tokens
    ready = model.inputs([tokens])
    read = Reader(model, ready).read(ready)
    for place, kind in enumerate("KQV"):
        number = contrasts(read.calls[2].record, tokens, causal=True)[4 * place + 3][None]
        terms = read.by_name(number)
        for writer in (hs.Head(0, 2), hs.Head(1, 0)):
            share = terms[Who("head", "self", writer.layer, writer.head)] / float(number.detach())
            assert float(found.sel(kind=kind, reader="L2H3", writer=str(writer))) == pytest.approx(
                float(share[0]), rel=1e-4
            )


def test_random_turns_have_the_size_that_is_told() -> None:
    model = hs.load(build(family("Llama")))
    tokens: Any = repeats(1)[0].tokens

    ready = model.inputs([tokens])
    read = Reader(model, ready).read(ready)
    number = contrasts(read.calls[2].record, tokens, causal=True)[1][None]
    turned = read.composed(number)[1][0]
    place = [writer for writer, _, _ in read.heads][1]
    (slope,) = torch.autograd.grad(number.sum(), [place.leaf], retain_graph=True)
    written = read.heads[1][1][2]  # L1H2
    draw = torch.Generator().manual_seed(0)
    turns = torch.linalg.qr(torch.randn(4000, 32, 32, generator=draw))[0]
    terms = torch.einsum("te,ned,td->n", slope[0], turns, written)
    assert float(turned[4 + 2]) == pytest.approx(float(terms.square().mean().sqrt()), rel=0.05)


@pytest.mark.slow
def test_untrained_models_and_a_tiny_trained_one_have_no_edge(shared: Path) -> None:
    corpus = hs.corpora.builtin()
    stories = shared / "models" / "stories260K"
    assert hs.composition(hs.load(stories), corpus, limit=20).table().empty
    assert hs.composition(hs.load(stories, untrained=0), corpus, limit=12).table().empty


def test_what_is_no_sum_of_heads_is_refused() -> None:
    model = hs.load(build(family("ConvBERT")))
    module: Any = build(family("Llama"))
    module.model.layers[1].register_forward_hook(lambda _, __, output: output.tanh())
    model = hs.load(module)
    with pytest.raises(RefusedError, match="layers that do not pass on all that was written before them"):
        hs.composition(model, repeats(1))


def study(model: Model, examples: int = 1) -> Study:
    words = HAY.split()[:12] * 4
    texts = [" ".join(words[start:]) for start in range(12)]  # documents by which roles are tested
    corpus = hs.corpora.texts(texts)
    figures = [hs.measure(model, corpus)] if examples else []
    return Study(model, corpus, ["composition"], examples, figures=figures)


@pytest.mark.slow
def test_an_edge_opens_both_heads_where_it_is_strongest() -> None:
    asked = study(hs.load((circuit().module, reader())))
    (made,) = section(asked)
    info: Any = made.info(Blobs())
    (row,) = rows(info, "composition")
    assert (row["layer"], row["head"], row["kind"], row["writer"]) == (1, 0, "K", "L0H0")
    drawn, edges, _, with_roles = info["blocks"]
    ((name,),) = edges["heads"]["writer"]
    assert [(head["text"], head["title"]) for head in drawn["heads"]] == [
        ("L0H0", "previous token"),
        ("L1H0", "induction"),
    ]
    (edge,) = drawn["edges"]
    assert (edge["writer"], edge["reader"], edge["kind"], edge["reason"]) == (0, 1, "K", row["reason"])
    assert [keys.split()[0] for keys in with_roles["values"]["keys"]] == ["L0H0"]
    assert (name["layer"], name["head"]) == (0, 0)
    example, pin, wrote = (
        row["reason"]["example"],
        row["reason"]["pin"]["place"],
        name["reason"]["pin"]["place"],
    )
    shown: Any = asked.inputs[example]
    ids = shown.first.query.ids
    inputs = repeated_tokens(asked.model, tokens=TOKENS, sequences=SEQUENCES)[:LOOKED_AT]
    sums = [CompositionWork(asked.model).summed(example) for example in inputs]
    at = (0, sums[0][0].index("L1H0"), sums[0][0].index("L0H0"), 0)
    terms = [s[at] for _, s, _, _ in sums]
    assert min(terms) < max(terms)
    np.testing.assert_array_equal(ids, cast("hs.Tokens", inputs[int(np.argmax(terms))].tokens).ids)
    assert ids[wrote - 1] == ids[pin]  # the writer is seen where it noted the token that the reader looks for
    why = {(one["layer"], one["head"], one["query"]): one for one in shown.reads["self"]}
    assert why[1, 0, pin]["by_key"][0]["line"] == [wrote, wrote - 1]  # and there it goes on
    assert why[0, 0, wrote]["key"] == wrote - 1
    (finding,) = made.findings()
    words = "".join(part["text"] for part in finding)
    assert words.startswith(
        "1 induction head reads, in its keys, what the previous token head L0H0 wrote: L1H0 ("
    )
    assert [part["layer"] for part in finding if part["layer"] is not None] == [0, 1]


def test_no_edge_is_said() -> None:
    model = circuit()
    for parameter in model.module.transformer.h[1].attn.parameters():
        parameter.data.zero_()
    (made,) = section(study(hs.load((model.module, reader())), examples=0))
    (note,) = made.info(Blobs())["blocks"]
    assert [part["text"] for part in note["parts"]] == [
        "No head reads what another wrote: that takes two layers, and inputs of several tokens."
    ]
    assert made.findings() == []
    assert np.isnan(made.result["q"]).all()
