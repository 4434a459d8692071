"""SGLang's part of headscope_qk: the calls of its attention layers, and which request each row is of."""

import os

from headscope_qk import Recorder


def plugin():
    """What the entry point `sglang.srt.plugins` runs in each process of the server."""
    if "HEADSCOPE_QK" not in os.environ:
        return
    import sglang
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.srt.runtime_context import get_server_args

    recorder, last = Recorder(f"sglang {sglang.__version__}"), [None]

    def step(batch):
        last[0], server = batch, get_server_args()
        recorder.model = server.tokenizer_path or server.model_path
        if batch.forward_mode.is_decode():
            parts = [(length - 1, 1) for length in batch.seq_lens_cpu.tolist()]
        elif batch.forward_mode.is_extend_without_speculative():
            parts = list(zip(batch.extend_prefix_lens_cpu, batch.extend_seq_lens_cpu, strict=True))
        else:
            parts = []
        why = "tokens were drafted by speculative decoding" if not parts else "ranks have some heads each"
        for request in batch.rids if not parts or server.tp_size > 1 else ():
            recorder.refuse(request, why)
        recorder.step(dict(zip(batch.rids, parts, strict=False)), lambda: (batch.rids, batch.input_ids))

    def attend(layer, q, k, v, forward_batch, *rest, sinks=None, **more):
        if forward_batch is not last[0]:
            step(forward_batch)
        decoder = layer.attn_type.value == "decoder" and not layer.is_cross_attention
        plain = decoder and not {"q_rope", "k_rope"} & {*more} and layer.xai_temperature_len <= 0
        recorder.layer(
            layer.layer_id,
            q.view(-1, layer.tp_q_head_num, layer.qk_head_dim),
            k.view(-1, layer.tp_k_head_num, layer.qk_head_dim) if k is not None and plain else None,
            scale=layer.scaling,
            softcap=layer.logit_cap or None,
            mask=layer.sliding_window_size + 1 if layer.sliding_window_size > 0 else "causal",
            sinks=sinks,
        )

    def finished(_, request, *rest, **more):
        if request.finished():
            recorder.finish([request.rid])

    HookRegistry.register("sglang.srt.layers.radix_attention.RadixAttention.forward", attend, HookType.BEFORE)
    HookRegistry.register(
        "sglang.srt.managers.schedule_batch.Req.update_finish_state", finished, HookType.AFTER
    )
