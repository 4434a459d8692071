"""vLLM's part of headscope_qk: the calls of its attention layers, and which request each row is of."""

import atexit
import os
import re

from headscope_qk import Recorder


def plugin():
    """What the entry point `vllm.general_plugins` runs in each process of the server."""
    if "HEADSCOPE_QK" not in os.environ:
        return
    import vllm
    from vllm import distributed
    from vllm.model_executor.layers.attention import Attention
    from vllm.v1.worker.worker_base import WorkerWrapperBase

    def tensors(*parts):
        """All heads: each rank has its own."""
        if distributed.get_tensor_model_parallel_world_size() == 1:
            return parts
        return [distributed.tensor_model_parallel_all_gather(one.contiguous(), dim=1) for one in parts]

    recorder = Recorder(f"vllm {vllm.__version__}", tensors)
    atexit.register(lambda: recorder.finish([*recorder.requests]))
    begin, run = Attention.__init__, WorkerWrapperBase.execute_model

    def init(self, *args, **options):
        begin(self, *args, **options)
        number, forward = int(re.findall(r"\d+", self.layer_name)[0]), self.impl.forward

        def recorded(layer, query, key, *rest, **more):
            sinks, unknown = getattr(self.impl, "sinks", None), getattr(self.impl, "alibi_slopes", None)
            if sinks is not None:
                (sinks,) = tensors(sinks[:, None].expand(-1, 1).T)
            recorder.layer(
                number,
                query,
                key if self.attn_type == "decoder" and unknown is None else None,
                scale=self.impl.scale,
                softcap=getattr(self.impl, "logits_soft_cap", None) or None,
                mask=self.sliding_window or "causal",
                sinks=None if sinks is None else sinks.flatten(),
            )
            return forward(layer, query, key, *rest, **more)

        self.impl.forward = recorded

    def execute(self, scheduled):
        runner, recorder.model = self.worker.model_runner, self.vllm_config.model_config.tokenizer
        recorder.writes = distributed.get_tensor_model_parallel_rank() == 0
        recorder.finish(scheduled.finished_req_ids)
        known = scheduled.scheduled_cached_reqs
        starts = {one.req_id: one.num_computed_tokens for one in scheduled.scheduled_new_reqs}
        starts.update(zip(known.req_ids, known.num_computed_tokens, strict=True))
        for request in scheduled.scheduled_spec_decode_tokens:
            recorder.refuse(request, "tokens were drafted by speculative decoding")
        if distributed.get_pp_group().world_size > 1:
            for request in starts:
                recorder.refuse(request, "layers are spread over stages of a pipeline")

        def batch():
            if hasattr(runner, "input_buffers"):  # the second model runner
                return runner.gather_batch_req_state(scheduled, False)[
                    0
                ].req_ids, runner.input_buffers.input_ids
            return runner.input_batch.req_ids, runner.input_ids.gpu

        recorder.step({r: (starts[r], count) for r, count in scheduled.num_scheduled_tokens.items()}, batch)
        return run(self, scheduled)

    Attention.__init__, WorkerWrapperBase.execute_model = init, execute
