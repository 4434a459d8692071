"""Maps of queries and keys that were recorded elsewhere are the model's own; what is not whole is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

import headscope as hs
from headscope.attention.record import AttentionRecord
from headscope.attention.recorded import Recorded
from headscope.attention.recording import recording
from headscope.core.maps import AttentionMaps
from headscope.errors import InputError
from headscope.measures.choose import surface
from headscope.views.view import View
from tests.helpers.families import build, family
from tests.helpers.typed import Typed


def recorded_and_own(
    name: str, dtype: torch.dtype = torch.float32, **more: Any
) -> tuple[Recorded, AttentionMaps]:
    """What a server would have recorded of a model and an input of 12 tokens, and the model's own maps."""
    module = build(family(name)).to(dtype)
    inputs = {"input_ids": family(name).inputs["input_ids"][:1]}
    calls: list[AttentionRecord] = []
    with torch.no_grad(), recording(module, calls.append):
        module(**inputs)
    own = hs.capture(hs.load(module), inputs=inputs)
    windows = [
        kind == "sliding_attention" for kind in getattr(module.config, "layer_types", None) or [""] * 3
    ]
    recorded = hs.from_qk(
        [call.q for call in calls],
        [call.k for call in calls],
        scale=[call.scaling for call in calls],
        softcap=[call.softcap for call in calls],
        sinks=None if calls[0].sinks is None else [call.sinks for call in calls],
        mask=[4 if window else "causal" for window in windows],
        tokens=own.query,
        **more,
    )
    return recorded, own


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "Gemma 2", "gpt-oss"])
def test_maps_and_measures_are_the_models_own(name: str) -> None:
    """Rotary positions and grouped heads, softcap and windows, sinks: every weight, row, region and figure."""
    recorded, own = recorded_and_own(name)
    maps = recorded.take()
    for layer, expected in zip(maps.layers, own.layers, strict=True):
        np.testing.assert_allclose(layer, expected, atol=1e-6)
    assert maps.causal == own.causal
    for place in range(len(own)):
        np.testing.assert_array_equal(maps.sight(place), own.sight(place))
    if own.sink is not None and maps.sink is not None:
        np.testing.assert_allclose(np.stack(maps.sink), np.stack(own.sink), atol=1e-6)
    np.testing.assert_allclose(recorded.row("L1H2", -1), own["L1H2"][-1], atol=1e-6)
    region = recorded.take(slice(3, 7), slice(2, 6))
    assert region.partial
    np.testing.assert_allclose(region["L2H3"], own["L2H3"][3:7, 2:6], atol=1e-6)
    measured, expected = hs.measure_qk(recorded), surface(own)
    for name in ("previous", "first", "entropy"):
        np.testing.assert_allclose(measured[name], expected[name], atol=1e-6)
        np.testing.assert_array_equal(measured[f"{name}_n"], expected[f"{name}_n"])


@pytest.mark.parametrize("name", ["Llama", "gpt-oss"])
def test_half_precision_rounds_as_an_eager_model_does_where_that_is_asked_for(name: str) -> None:
    recorded, own = recorded_and_own(name, torch.bfloat16, precision="recorded")
    for layer, expected in zip(recorded.take().layers, own.layers, strict=True):
        np.testing.assert_allclose(layer, expected, atol=1e-3)


def test_inputs_one_after_another_are_documents() -> None:
    """Sums of a generator are means over all rows, with errors by document; nothing of an input is kept."""
    first, second = (recorded_and_own(name)[0] for name in ("Llama", "Llama"))
    one, both = hs.measure_qk(first), hs.measure_qk(each for each in (first, second))
    np.testing.assert_allclose(one["entropy"], both["entropy"])
    np.testing.assert_allclose(2 * one["entropy_n"], both["entropy_n"])
    assert float(both["entropy_se"].max()) < 1e-6
    assert np.isnan(one["entropy_se"]).all()


def test_a_view_has_the_maps_and_the_neurons() -> None:
    recorded, own = recorded_and_own("Llama")
    view = hs.view(recorded, layer=1, heads=[2])
    assert isinstance(view, View)
    payload = view.payload
    assert payload.keys() == hs.view(own, layer=1, heads=[2]).payload.keys()
    assert recorded.neurons.groups(0) == 2


def test_the_last_tokens_alone_look_over_all_keys() -> None:
    """One step of decoding: a query of the last token, the keys of all."""
    recorded, own = recorded_and_own("Gemma 2")
    q = [torch.as_tensor(q)[:, -2:] for q in recorded.q]
    last = hs.from_qk(
        q,
        recorded.k,
        scale=recorded.scale,
        softcap=recorded.softcap,
        mask=list(recorded.mask),
        tokens=own.query,
    )
    for layer, expected in zip(last.take().layers, own.layers, strict=True):
        np.testing.assert_allclose(layer, expected[:, -2:], atol=1e-6)
    with pytest.raises(InputError, match="expected self-attention with a query for each key"):
        hs.measure_qk(last)


def test_what_is_too_large_is_made_by_rows() -> None:
    q = np.zeros((1, 32, 6_000, 2), np.float32)
    recorded = hs.from_qk(q, q[:, :8])
    with pytest.raises(
        InputError, match=r"take 4\.3 GiB; take\(query=slice\(0, 1398\)\) \(--rows 0:1398\) makes"
    ):
        recorded.take()
    assert recorded.take(slice(5_999, 6_000))["L0H31"].sum() == pytest.approx(1)
    windowed = hs.from_qk(np.zeros((1, 1, 20_000, 2)), np.zeros((1, 1, 20_000, 2)), mask=7)
    assert windowed.row("L0H0", 100).nonzero()[0].tolist() == [*range(94, 101)]
    with pytest.raises(InputError, match="layer 0: expected at most 16,384 tokens for a window"):
        hs.measure_qk(windowed)


def test_queries_that_are_no_numbers_or_none_are_refused() -> None:
    q, k = np.zeros((2, 4, 3, 8)), np.zeros((2, 2, 3, 8))
    q[1, 2, 1, 0] = np.nan
    with pytest.raises(InputError, match="q, layer 1, head 2: token 1 is no finite number"):
        hs.from_qk(q, k).take()
    with pytest.raises(InputError, match="query: expected some of the tokens from 0 to 2, found none"):
        hs.from_qk(k, k).take(slice(3, 9))


@pytest.mark.parametrize("kind", [np.array, torch.tensor])
def test_a_mask_is_an_array_of_any_kind(kind: Any, tmp_path: Path) -> None:
    """Of what is seen, or of what is added, the same rows: those of a causal model."""
    q, k = np.random.default_rng(0).normal(size=(2, 2, 2, 4, 8))
    causal, seen = hs.from_qk(q, k), np.tri(4, dtype=bool)
    for mask in (seen, np.where(seen, 0.0, -np.inf)):
        masked = hs.from_qk(q, k, mask=kind(mask))
        same(masked, causal, 1e-12)
        assert masked.causal
        np.testing.assert_allclose(hs.measure_qk(masked)["entropy"], hs.measure_qk(causal)["entropy"])
        hs.save_qk(masked, tmp_path / "qk.safetensors")
        same(hs.open_qk(tmp_path / "qk.safetensors"), causal, 1e-12)


def same(found: Recorded, recorded: Recorded, atol: float = 0.0) -> None:
    """Two make the same maps of the same layers."""
    assert list(found.index) == list(recorded.index)
    for layer, expected in zip(found.take().layers, recorded.take().layers, strict=True):
        np.testing.assert_allclose(layer, expected, atol=atol)


def test_queries_that_are_the_keys_are_written_twice(tmp_path: Path) -> None:
    both = torch.randn(2, 4, 6, 8)
    recorded = hs.from_qk(both, both)
    hs.save_qk(recorded, tmp_path / "qk.safetensors")
    same(hs.open_qk(tmp_path / "qk.safetensors"), recorded)


def test_the_own_layout_comes_back_and_refuses_what_is_not_whole(tmp_path: Path) -> None:
    recorded, own = recorded_and_own("gpt-oss", torch.bfloat16)
    path = tmp_path / "qk.safetensors"
    hs.save_qk(recorded, path)
    found = hs.open_qk(path)
    same(found, recorded)
    assert found.query.pieces == own.query.pieces
    assert found.query.ids is not None
    assert own.query.ids is not None
    np.testing.assert_array_equal(found.query.ids, own.query.ids)

    q, k = torch.zeros(4, 3, 8), torch.zeros(2, 3, 8)

    def written(arrays: dict[str, torch.Tensor], **description: Any) -> Path:
        header = {"format": "headscope.qk/1", "description": json.dumps(description)}
        save_file(arrays, path, header)
        return path

    bare = hs.open_qk(
        written({"query.7": q, "key.7": k}, positions="applied", query=["a", "b", "c"], heads=4)
    )
    assert bare.heads[-1] == hs.Head(7, 3)
    assert list(bare.key.pieces) == ["a", "b", "c"]
    for message, arrays, description in [
        ("whose positions were applied, found None", {"query.7": q, "key.7": k}, {}),
        ("found 'before'", {"query.7": q, "key.7": k}, {"positions": "before"}),
        (
            "expected 8 heads in layer 7, found 4",
            {"query.7": q, "key.7": k},
            {"positions": "applied", "heads": 8},
        ),
        ("expected key.7, found no such array", {"query.7": q}, {"positions": "applied"}),
        ("tokens: expected 3, found 1", {"query.7": q, "key.7": k}, {"positions": "applied", "query": ["a"]}),
    ]:
        with pytest.raises(InputError, match=f"{path}: .*{message}"):
            hs.open_qk(written(arrays, **description))
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="expected a safetensors file"):
        hs.open_qk(path)


def hooked(folder: Path, recorded: Recorded, ranks: int = 1, **said: Any) -> Path:
    """A folder as vLLM-Hook writes it of two inputs, the second without its last token."""
    heads, dim = recorded.heads_of(0), int(recorded.q[0].shape[2])
    key_heads = int(recorded.k[0].shape[0])
    for rank in range(ranks):
        arrays: dict[str, torch.Tensor] = {}
        order: list[dict[str, Any]] = []
        for place, layer in enumerate(recorded.index):
            name = f"model.layers.{layer}.self_attn.attn"
            entry = {"module_name": name, "layer_num": layer, "hookq_mode": "all_tokens"}
            for side, of in (("q", recorded.q), ("k", recorded.k)):
                array = torch.as_tensor(of[place]).chunk(ranks)[rank]
                flat = array.transpose(0, 1).flatten(1)
                short = torch.cat([flat[:-1], torch.zeros_like(flat[:1])])
                entry[f"key_{side}"] = f"{name.replace('.', '__')}__{side}"
                arrays[entry[f"key_{side}"]] = torch.stack([short, flat]).contiguous()
            order.append(entry)
        config = {"num_attention_heads": heads, "num_key_value_heads": key_heads, "hidden_size": heads * dim,
                  "head_dim": dim, "attention_multiplier": recorded.scale[0]}  # fmt: skip
        lengths = [len(recorded.key) - 1, len(recorded.key)]
        meta = {"config": config, "layer_order": order[::-1], "batch_size": 2, "tp_rank": rank,
                "q_seq_lens": lengths, "k_seq_lens": lengths, **said}  # fmt: skip
        place = folder / f"tp_rank_{rank}"
        place.mkdir(parents=True)
        save_file(arrays, place / "qk.safetensors")
        (place / "qk.json").write_text(json.dumps(meta))
    return folder


def test_vllm_hook_is_read_rank_by_rank_and_refused_where_heads_are_missing(tmp_path: Path) -> None:
    recorded, own = recorded_and_own("Llama")
    pieces = own.query.pieces
    same(hs.open_qk(hooked(tmp_path / "one", recorded), input=1, tokens=pieces), recorded)
    two = hooked(tmp_path / "two", recorded, ranks=2, tp_shard={"tp_size": 2})
    same(hs.open_qk(two, input=1), recorded)
    short = hs.open_qk(two, input=0)
    np.testing.assert_allclose(short.take()["L2H3"], own["L2H3"][:-1, :-1], atol=1e-6)
    file = two / "tp_rank_0" / "qk.safetensors"
    for message, call in {
        "expected which input, of 0 to 1, found none named": lambda: hs.open_qk(two),
        "expected an input from 0 to 1, found 2": lambda: hs.open_qk(two, input=2),
        "the heads of rank 1 are missing": lambda: hs.open_qk(file, input=1),
        "expected 4 heads of 8, 32 numbers a token, found 16: heads are missing": lambda: hs.open_qk(
            next(hooked(tmp_path / "half", recorded, ranks=2).rglob("tp_rank_0/qk.safetensors")), input=1
        ),
    }.items():
        with pytest.raises(InputError, match=message):
            call()
    said = json.loads(file.with_suffix(".json").read_text())
    for entry in said["layer_order"]:
        entry["module_name"] = entry["module_name"].removesuffix(".attn")
    file.with_suffix(".json").write_text(json.dumps(said))
    with pytest.raises(
        InputError, match=r"self_attn: expected what enters attention \(….attn\), its positions applied"
    ):
        hs.open_qk(two, input=1)


def test_vllm_hook_steps_of_decoding_are_one_input(tmp_path: Path) -> None:
    """Its compact form: keys once, queries of the prompt and of each step one after another."""
    recorded, _ = recorded_and_own("Llama")
    folder = hooked(tmp_path, recorded)
    file = folder / "tp_rank_0" / "qk.safetensors"
    said = json.loads(file.with_suffix(".json").read_text())
    count, arrays = len(recorded.key), {}
    for entry, place in zip(said["layer_order"], (2, 1, 0), strict=True):
        for side, of in (("q", recorded.q), ("k", recorded.k)):
            flat = torch.as_tensor(of[place]).transpose(0, 1).flatten(1)
            arrays[entry[f"key_{side}"]] = torch.cat([flat[:5], flat])
    said |= {"compact_all_tokens": True, "q_seq_lens": [5, count - 2, 1, 1], "k_full_lens": [5, count],
             "k_prefix_ends": [[5], [count - 2, count - 1, count]]}  # fmt: skip
    save_file(arrays, file)
    file.with_suffix(".json").write_text(json.dumps(said))
    same(hs.open_qk(folder, input=1), recorded)


def printed(recorded: Recorded, *, rope: bool = True, elided: bool = False) -> str:
    """What llama.cpp's callback prints of a warm-up over two tokens and of the input."""
    lines: list[str] = []

    def tensor(name: str, op: str, array: torch.Tensor) -> None:
        tokens, heads, dim = array.shape
        shape = f"{dim}, {heads}, {tokens}, 1"
        lines.append(
            f"common_debug_cb_eval: {name:>24} = (f32) {op:>10}(blk{{{shape}}}, inp_pos{{12, 1, 1, 1}}}}) = {{{shape}}}"
        )
        lines.append("    [")
        for token in array:
            lines.append("        [")
            lines.extend(
                "            ["
                + ", ".join(f"{value:12.4f}" for value in row)
                + (",    ..., " if elided else "")
                + "  ],"
                for row in token.tolist()
            )
            lines.append("        ],")
        lines.extend(["    ]", f"    sum = {float(array.sum()):f}"])

    for count in (2, len(recorded.key)):
        for place, layer in enumerate(recorded.index):
            for name, of in (("Q", recorded.q), ("K", recorded.k)):
                array = torch.as_tensor(of[place]).transpose(0, 1)[:count]
                tensor(f"{name}cur-{layer}", "ADD", -array)
                if rope:
                    tensor(f"{name}cur-{layer}", "ROPE", array)
                tensor(f"kq-{layer}", "MUL_MAT", array)
    return "llama_context: n_ctx = 512\n" + "\n".join(lines) + "\n"


def test_llama_cpp_is_read_behind_its_rotary_positions(tmp_path: Path) -> None:
    recorded, _ = recorded_and_own("Llama")
    path = tmp_path / "log.txt"
    path.write_text(printed(recorded))
    same(hs.open_qk(path), recorded, atol=1e-3)  # four decimals
    assert len(hs.open_qk(path, input=0).key) == 2
    for message, text in {
        r"log.txt:\d+: expected Qcur-0 behind ROPE, found ADD: positions were not applied": printed(
            recorded, rope=False
        ),
        r"log.txt:\d+: expected all values of Qcur-0, found some left out": printed(recorded, elided=True),
        r"log.txt: expected Kcur-0 beside the other": printed(recorded).replace("Kcur-0", "other-0"),
        "found no Qcur and Kcur in it": "nothing",
    }.items():
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            hs.open_qk(path)


def test_a_file_becomes_maps_a_view_or_measures(typed: Typed, tmp_path: Path) -> None:
    recorded, own = recorded_and_own("Llama")
    source = tmp_path / "qk.safetensors"
    hs.save_qk(recorded, source)
    assert typed("import", source).out == "Recorded(3 layers × 4 heads, 12 × 12 tokens, self)\n"
    typed("import", source, "--rows", "3:5", "-o", tmp_path / "maps.safetensors")
    np.testing.assert_allclose(
        hs.open_maps(tmp_path / "maps.safetensors")["L1H2"], own["L1H2"][3:5], atol=1e-6
    )
    typed("import", source, "--keys", ":4", "-o", tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text("utf-8").startswith("<!doctype html>")
    typed("import", source, "--measures", "previous,entropy", "-o", tmp_path / "heads.csv")
    table = pd.read_csv(tmp_path / "heads.csv")
    assert set(table["measure"]) == {"previous", "entropy"}
    assert len(table) == 24
    for words, said in {
        ("--rows", "3"): "--rows: expected A:B, numbers from 0, found '3'",
        ("--mask", "sideways"): "mask, layer 0: expected 'causal', 'all', a window",
        ("--keys", "0:2", "-o", tmp_path / "x.csv"): "--rows, --keys: expected maps or a view of them",
        ("--measures", "previous", "-o", tmp_path / "x.html"): "--measures: expected a table of them",
        ("--tokens", "none.txt"): "none.txt: expected a file of tokens",
    }.items():
        assert said in typed("import", source, *words, code=2).err
