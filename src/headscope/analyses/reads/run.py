"""Why a head looks where it does, in all of the model: who wrote what its queries and keys read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, cast

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from headscope.analyses.options import BlockOptions, with_options
from headscope.analyses.reads import statistics
from headscope.analyses.reads.corpus import ATTENDED, over_corpus
from headscope.analyses.result import returns_result
from headscope.attention.one import Text, prepare
from headscope.attention.parts import sides
from headscope.attention.reading import (
    PAIR,
    AskedKeys,
    Foil,
    ask,
    call_of,
    looks,
    names,
    of_the_token,
    order,
    part_of,
    place,
    single,
    terms_of,
)
from headscope.attention.record import AttentionRecord
from headscope.attention.stream import Read, Reader, Who
from headscope.core.heads import AnyHead, Head
from headscope.core.terms import SIDES
from headscope.core.tokens import Tokens
from headscope.core.types import AnyDict
from headscope.core.validation import Number, Seed
from headscope.corpora import Corpus, Example
from headscope.errors import InputError
from headscope.models import Model
from headscope.runs.long import described
from headscope.runs.options import COMMAND


@returns_result
@with_options(batch_size=8)
def reads(
    model: Model,
    text: Text | Corpus | Sequence[Example],
    head: AnyHead,
    *,
    query: int | None = None,
    key: int | None = None,
    foil: Foil = "mean",
    pair: str | None = None,
    target: str | None = None,
    attention: Literal["encoder", "decoder", "cross"] | None = None,
    pairs: Number = 0,
    of: str = ATTENDED,
    ablated: Number = 3,
    reinitialised: Seed | None = None,
    seed: Seed = 0,
    **options: Unpack[BlockOptions],
) -> xr.Dataset:
    """Why a head looks from one token at another: its score as a sum over who wrote the query and who wrote the key.

    Query and key are linear in the residual stream once the norms keep the divisors that they have on this input. So a
    score is a sum over writers: the embedding, each earlier head, each MLP, biases. Told are the terms of the **key**'s
    side (with the whole query) and of the **query**'s (with the difference of the keys), each side summing to the
    contrast exactly. Nothing is trained, and nothing depends on what a family calls its parts.

    What is told is a contrast, since softmax sees only differences: the score of the key less the mean over the other
    keys that the query sees; special tokens, and the first of a causal model, are left out of that mean. Where
    positions turn queries and keys (RoPE), each term is its **content** (what it would be at one position) and its
    **position**, the rest. What the positions of the pair add by themselves (ALiBi, relative biases) is a term of its
    own, ``position bias``. Terms are before a softcap, which is said.

    A term says who wrote what is read, not what would happen without that writer: for large terms the two agree; below
    5 % of the contrast a term says nothing, and tables sum these as ``the rest``.

    **Over a corpus**: each writer's mean share of the contrasts, over all queries that see a key of the kind that is
    asked about (`of`), with its error by document. Its chance is the share with the keys of each query shuffled among
    those that it sees; p says that the two are the same in all documents there could be, q over all writers of both
    sides. Where the keys that are asked about are not scored above the others, there is nothing to share out. Beside
    the heads with the largest shares stands what is left of the contrasts, and of the attention to these
    keys, when such a head gives at each token its mean over the input.

    Args:
        model: from `headscope.load`, in float32 or float64.
        text: as in `headscope.capture`; or a corpus, from `headscope.corpora` or examples that have their tokens.
        head: such as ``"L5H1"``.
        query: its position, negative from the end; by default the last token that is not special.
        key: the position that is asked about; by default the one with the largest weight, special tokens and the
            first of a causal model aside.
        foil: what it is compared with: the ``mean`` of the other keys, the position of one, or ``none``.
        pair: a text B, for a model that reads pairs.
        target: the decoder's text, for an encoder-decoder.
        attention: ``encoder``, ``decoder`` or ``cross`` of an encoder-decoder; of a corpus the encoder's is read.
        pairs: of so many writers of the query, those with the largest terms, also tell the terms with each writer of
            the key.
        of: of a corpus, the keys that are asked about: those of a measure of pairs of tokens or of an offset
            (``induction``, ``duplicate``, ``previous``, your own); the targets of the links or relations of a label
            (``link:obj``; in a causal model the later end is the query); or ``attended``: of each query the one with
            the largest weight, special tokens and the first of a causal model aside, contrasts counted by that weight.
        ablated: of a corpus, so many heads with the largest shares are ablated, one at a time.
        reinitialised: of a corpus, also the shares in this model with its weights re-initialised with this seed.
        seed: of the keys that are shuffled.

    Returns:
        A dataset over ``(side, writer)``: ``term``, with ``content`` and ``position`` where positions turn;
        ``looks_at``, the token at which a head that writes looks most from where it wrote; the ``contrast`` that the
        terms of either side sum to, and the ``weight``. With `pairs`, ``pair`` over ``(of, writer)``. Of a corpus
        ``share`` with ``share_se``, ``share_low``, ``share_high``, ``chance``, ``p`` and ``q``; over ``writer``
        ``contrast_left`` and ``attention_left`` with their errors; and the mean ``contrast``. With `reinitialised`
        ``share_untrained``.

    Raises:
        InputError: no such head, part or position, or a key that the query does not see; a measure that is of no pairs.
        RefusedError: a model whose scores are no such sums, by name; weights of half precision.

    >>> import transformers
    >>> config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=2, n_head=2, n_positions=8)
    >>> small = headscope.load(transformers.GPT2LMHeadModel(config))
    >>> found = reads(small, headscope.Tokens(["a", "b", "c", "d"], ids=[3, 4, 5, 6]), "L1H0", key=1)
    >>> found["writer"].values.tolist()
    ['token and position', 'L0H0', 'L0H1', 'mlp 0', 'biases', 'position bias']
    >>> bool(np.allclose(found["term"].sum("writer"), found["contrast"], atol=1e-5))
    True
    """
    if isinstance(text, Corpus) or (
        isinstance(text, Sequence) and any(isinstance(row, Example) for row in text)
    ):
        if (query, key, pairs) != (None, None, 0):
            raise InputError("query, key, pairs: are of one input, and a corpus was given")
        corpus = cast("Corpus | Sequence[Example]", text)
        return over_corpus(
            model,
            corpus,
            head,
            of=of,
            seed=seed,
            ablated=ablated,
            reinitialised=reinitialised,
            options=options,
        )
    if of != ATTENDED:
        raise InputError(f"of: is of a corpus, and one input was given; found {of!r}")
    contrast: AnyDict = {"query": query, "key": key, "foil": foil, "pairs": pairs}
    return _of_input(model, *prepare(model, text, pair, target), Head.of(head), attention, **contrast)


def _of_input(
    model: Model,
    axes: Mapping[str, Tokens],
    ready: Mapping[str, Tensor],
    head: Head,
    attention: str | None,
    *,
    query: int | None,
    key: int | None,
    foil: Foil,
    pairs: int,
) -> xr.Dataset:
    """The terms of one contrast of one input, labelled."""
    reader = Reader(model, ready)
    part = part_of(reader, attention)
    read = reader.read(ready, (part, head.layer))
    call = call_of(read, part, head)
    record = call.record
    (queries, _), (keys, _) = sides(model, part, [record], 0, ready, axes)
    row = place("query", query, queries)
    column, asked = ask(model, record, head.head, keys, row, key, foil)
    (terms,) = terms_of(read, record, [asked])
    contrast = float(asked.numbers(record, "key").detach()) + terms["key"][PAIR]
    writers = sorted({who for side in terms.values() for who in side}, key=order)
    called = names(writers)
    called |= of_the_token(writers, terms, contrast)

    def over(parts: Mapping[str, Mapping[Who, Any]], missing: Any = 0.0) -> Any:
        return np.array([[parts[side].get(who, missing) for who in writers] for side in SIDES])

    rows = {"key": column, "query": row}
    pieces = {
        side: {
            who: piece for who, (_, piece) in looks(model, read, terms[side], rows[side], ready, axes).items()
        }
        for side in SIDES
    }
    values: AnyDict = {"term": over(terms), "looks_at": over(pieces, "").astype(object)}
    if (unturned := read.unturned(call)) is not None:
        content = {side: single(read.by_name(asked.numbers(unturned, side))) for side in SIDES}
        values["content"] = over(content)
        values["position"] = values["term"] - values["content"]
    weight = record.weights(slice(row, row + 1))[0, head.head, 0, column]
    values |= {"contrast": contrast, "weight": float(weight.detach())}
    both = None
    if pairs:
        of_pairs = _pairs(read, record, asked, row, terms["query"], pairs)
        table = [[of.get(who, 0.0) for who in writers] for of in of_pairs.values()]
        both = [called[who] for who in of_pairs], np.array(table)
    labels = [(called[who], who.kind, who.layer, who.head) for who in writers]
    meta = {
        "model": described(model, ())["model"],
        "head": str(head),
        "part": part,
        "query": row,
        "key": column,
        "foil": foil,
        "query_token": queries.pieces[row],
        "key_token": keys.pieces[column],
        "softcap": record.softcap,
        "command": COMMAND.get(),
    }
    return statistics.dataset(labels, values, both, meta)


def _pairs(
    read: Read, record: AttentionRecord, asked: AskedKeys, row: int, terms: Mapping[Who, float], count: int
) -> dict[Who, dict[Who, float]]:
    """The terms of pairs: of these writers of the query with the largest terms, and every writer of the key."""
    most = sorted((who for who in terms if who != PAIR), key=lambda who: -abs(terms[who]))[:count]
    queries = read.by_name(record.q[0, asked.head, row])
    query = torch.as_tensor(np.stack([queries[who] for who in most])).to(record.q)
    difference = asked.contrast[row].to(record.k) @ record.k[0, asked.head // record.groups]
    numbers = read.by_name(query @ difference * record.scaling)
    placed = asked.placed(record, "query")
    alone = single(read.by_name(placed)) if placed.requires_grad else {}
    return {
        who: {key: float(values[at]) for key, values in numbers.items()} | {PAIR: alone.get(who, 0.0)}
        for at, who in enumerate(most)
    }
