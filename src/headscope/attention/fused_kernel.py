"""The kernel of `headscope.attention.fused`; importing it needs triton."""

# pyright: basic, reportMissingImports=false
# A kernel is Python by its looks only: its values are pointers and tiles of numbers, without types.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _changed(
    scores,
    row,
    key,
    there,
    bias,
    bias_row,
    bias_key,
    mask,
    mask_row,
    mask_key,
    hides,
    softcap,
    HIDDEN: tl.constexpr,
    BIAS: tl.constexpr,
    SOFTCAP: tl.constexpr,
    MASK: tl.constexpr,
):
    """Scores of any places after bias, softcap and mask; `HIDDEN` where a key is not seen or not `there`."""
    if BIAS:
        added = tl.load(bias + row * bias_row + key * bias_key, mask=there, other=0.0)
        scores += tl.maximum(added.to(tl.float32), HIDDEN)
    if SOFTCAP:
        scores = softcap * (2.0 / (1.0 + tl.exp(-2.0 * scores / softcap)) - 1.0)  # tanh
    if MASK:
        added = tl.load(mask + row * mask_row + key * mask_key, mask=there, other=0).to(tl.float32)
        if MASK == 1:
            there = there & (added != 0.0)
        else:
            there = there & (added > hides)
            scores += tl.where(there, added, 0.0)
    return tl.where(there, scores, HIDDEN)


@triton.jit
def rows_kernel(
    q,
    k,
    v,
    columns,
    bias,
    mask,
    places,
    lse,
    largest,
    entropy,
    mass,
    offsets,
    output,
    q_item,
    q_head,
    q_row,
    q_dim,
    k_item,
    k_head,
    k_row,
    k_dim,
    v_item,
    v_head,
    v_row,
    v_dim,
    bias_item,
    bias_head,
    bias_row,
    bias_key,
    mask_item,
    mask_head,
    mask_row,
    mask_key,
    heads,
    groups,
    queries,
    keys,
    dim,
    value_dim,
    classes,
    figures,
    scaling,
    softcap,
    hides,
    HIDDEN: tl.constexpr,
    CAUSAL: tl.constexpr,
    BIAS: tl.constexpr,
    SOFTCAP: tl.constexpr,
    MASK: tl.constexpr,
    OUTPUT: tl.constexpr,
    OFFSETS: tl.constexpr,
    HALF: tl.constexpr,
    DIM: tl.constexpr,
    VALUE_DIM: tl.constexpr,
    CLASSES: tl.constexpr,
    ROWS: tl.constexpr,
    KEYS: tl.constexpr,
):
    """One block of rows of one head. Figures go to ``[item head row ...]``, weights at offsets to ``[offset item head
    row]``, laid out in this order; `figures` counts all rows of all heads. A mask hides at `hides` and below.

    `lse` is ln Σ exp(score) of a row, of scores as they are. While keys go by, a row has its largest score m so far,
    l = Σ exp(s − m) and u = Σ exp(s − m) (m − s), whose terms are never negative: entropy = ln l + u / l.
    """
    blocks = tl.cdiv(queries, ROWS)
    both = (tl.program_id(0) // blocks).to(tl.int64)
    item, head = both // heads, both % heads
    row = (tl.program_id(0) % blocks) * ROWS + tl.arange(0, ROWS)
    alive = row < queries
    ahead = keys - queries
    d, e, c = tl.arange(0, DIM), tl.arange(0, VALUE_DIM), tl.arange(0, CLASSES)
    at = q + item * q_item + head * q_head
    asked = tl.load(
        at + row[:, None].to(tl.int64) * q_row + d[None, :] * q_dim,
        mask=alive[:, None] & (d[None, :] < dim),
        other=0.0,
    )
    k += item * k_item + head // groups * k_head
    v += item * v_item + head // groups * v_head
    bias += item * bias_item + head * bias_head
    mask += item * mask_item + head * mask_head
    columns += item * keys * classes

    m = tl.full([ROWS], HIDDEN, tl.float32)
    l = tl.zeros([ROWS], tl.float32)  # noqa: E741
    u = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, CLASSES], tl.float32)
    values = tl.zeros([ROWS, VALUE_DIM], tl.float32)
    stop = keys
    if CAUSAL:
        stop = tl.minimum(keys, ahead + (tl.program_id(0) % blocks + 1) * ROWS)
    for start in range(0, stop, KEYS):
        key = start + tl.arange(0, KEYS)
        given = tl.load(
            k + key[None, :].to(tl.int64) * k_row + d[:, None] * k_dim,
            mask=(key[None, :] < keys) & (d[:, None] < dim),
            other=0.0,
        )
        there = alive[:, None] & (key[None, :] < keys)
        if CAUSAL:
            there = there & (key[None, :] <= row[:, None] + ahead)
        scores = tl.dot(asked, given, input_precision="ieee") * scaling
        scores = _changed(
            scores,
            row[:, None].to(tl.int64),
            key[None, :],
            there,
            bias,
            bias_row,
            bias_key,
            mask,
            mask_row,
            mask_key,
            hides,
            softcap,
            HIDDEN,
            BIAS,
            SOFTCAP,
            MASK,
        )
        top = tl.maximum(m, tl.max(scores, 1))
        less = tl.exp(m - top)
        weights = tl.exp(scores - top[:, None])
        u = less * (u + l * (top - m)) + tl.sum(weights * (top[:, None] - scores), 1)
        l = less * l + tl.sum(weights, 1)  # noqa: E741
        m = top
        of = tl.load(
            columns + key[:, None] * classes + c[None, :],
            mask=(key[:, None] < keys) & (c[None, :] < classes),
            other=0.0,
        )
        if HALF:
            part = tl.dot(weights.to(tl.float16), of.to(tl.float16))
        else:
            part = tl.dot(weights, of, input_precision="ieee")
        sums = sums * less[:, None] + part
        if OUTPUT:
            value = tl.load(
                v + key[:, None].to(tl.int64) * v_row + e[None, :] * v_dim,
                mask=(key[:, None] < keys) & (e[None, :] < value_dim),
                other=0.0,
            )
            part = tl.dot(weights.to(value.dtype), value, input_precision="ieee")
            values = values * less[:, None] + part

    total = m + tl.log(l)
    sees = total > HIDDEN / 2
    share = tl.where(sees, 1.0 / l, 0.0)
    index = both * queries + row
    tl.store(lse + index, total, mask=alive)
    tl.store(largest + index, share, mask=alive)
    tl.store(entropy + index, tl.where(sees, tl.log(l) + u / l, 0.0), mask=alive)
    tl.store(
        mass + index[:, None] * classes + c[None, :],
        sums * share[:, None],
        mask=alive[:, None] & (c[None, :] < classes),
    )
    if OUTPUT:
        tl.store(
            output + index[:, None] * value_dim + e[None, :],
            values * share[:, None],
            mask=alive[:, None] & (e[None, :] < value_dim),
        )
    for place in tl.static_range(OFFSETS):  # pyright: ignore[reportGeneralTypeIssues]
        key = row + ahead + tl.load(places + place)
        there = alive & (key >= 0) & (key < keys)
        if CAUSAL:
            there = there & (key <= row + ahead)
        given = tl.load(
            k + key[:, None].to(tl.int64) * k_row + d[None, :] * k_dim,
            mask=there[:, None] & (d[None, :] < dim),
            other=0.0,
        )
        scores = tl.sum(asked.to(tl.float32) * given.to(tl.float32), 1) * scaling
        scores = _changed(
            scores,
            row.to(tl.int64),
            key,
            there,
            bias,
            bias_row,
            bias_key,
            mask,
            mask_row,
            mask_key,
            hides,
            softcap,
            HIDDEN,
            BIAS,
            SOFTCAP,
            MASK,
        )
        weight = tl.where(scores > HIDDEN, tl.exp(scores - total), 0.0)
        tl.store(offsets + place * figures + index, weight, mask=alive)
