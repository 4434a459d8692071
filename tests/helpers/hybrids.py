"""Models of which not all layers attend, each built small from its configuration, and what is to be said of them."""

from __future__ import annotations

import warnings
from typing import Any

import transformers
from transformers.models.auto import configuration_auto

from tests.helpers.small_models import sizes
from tests.helpers.small_tokenizers import byte_level

_TEXT: dict[str, Any] = {
    "vocab_size": 120,
    **sizes(layers=4, inner=48, keys=2, length=64),
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_STATES = {"mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
LINEAR = {
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
_BY_LATENT = {
    "kv_lora_rank": 8,
    "q_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 4,
    "v_head_dim": 8,
}
_MAMBA = ["mamba", "hybrid", "mamba", "hybrid"]

HYBRIDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "qwen3_next": (
        "Qwen3NextForCausalLM",
        {**LINEAR, **_EXPERTS, "head_dim": 8, "num_hidden_layers": 8, "shared_expert_intermediate_size": 16},
        "Layers 0–2, 4–6 of 8 have no attention map: linear attention (Qwen3NextGatedDeltaNet).",
    ),
    "qwen3_5_text": (
        "Qwen3_5ForCausalLM",
        {**LINEAR, "head_dim": 8},
        "Layers 0–2 of 4 have no attention map: linear attention (Qwen3_5GatedDeltaNet).",
    ),
    "minimax": (
        "MiniMaxForCausalLM",
        {"head_dim": 8, "num_local_experts": 2, "block_size": 8, "layer_types": ["linear_attention", "full_attention"] * 2},
        "Layers 0, 2 of 4 have no attention map: linear attention (MiniMaxLightningAttention).",
    ),
    "olmo_hybrid": (
        "OlmoHybridForCausalLM",
        {},
        "Layers 0–2 of 4 have no attention map: linear attention (OlmoHybridGatedDeltaNet).",
    ),
    "bamba": (
        "BambaForCausalLM",
        {**_STATES, "attn_layer_indices": [1], "mamba_n_heads": 8},
        "Layers 0, 2, 3 of 4 have no attention map: state space (BambaMixer).",
    ),
    "jamba": (
        "JambaForCausalLM",
        {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1,
         "num_experts": 2, "mamba_d_state": 8, "mamba_dt_rank": 4, "use_mamba_kernels": False},
        "Layers 0, 2 of 4 have no attention map: state space (JambaMambaMixer).",
    ),
    "granitemoehybrid": (
        "GraniteMoeHybridForCausalLM",
        {**_STATES, "mamba_n_heads": 8, "layer_types": ["mamba", "attention", "mamba", "mamba"],
         "layers_block_type": ["mamba", "attention", "mamba", "mamba"], "num_local_experts": 2,
         "shared_intermediate_size": 16},
        "Layers 0, 2, 3 of 4 have no attention map: state space (GraniteMoeHybridMambaLayer).",
    ),
    "lfm2": (
        "Lfm2ForCausalLM",
        {"layer_types": ["conv", "conv", "full_attention", "conv"]},
        "Layers 0, 1, 3 of 4 have no attention map: convolution (Lfm2ShortConv).",
    ),
    "recurrent_gemma": (
        "RecurrentGemmaForCausalLM",
        {"lru_width": 32, "attention_window_size": 16, "block_types": ["recurrent", "recurrent", "attention"]},
        "Layers 0, 1, 3 of 4 have no attention map: recurrence (RecurrentGemmaRecurrentBlock).",
    ),
    "nemotron_h": (
        "NemotronHForCausalLM",
        {"layers_block_type": ["mamba", "mlp", "attention", "moe"], "mamba_num_heads": 8, "mamba_head_dim": 8,
         "ssm_state_size": 8, "n_groups": 1, "chunk_size": 8, "n_routed_experts": 2, "moe_intermediate_size": 16,
         "num_experts_per_tok": 1, "moe_shared_expert_intermediate_size": 16},
        "Layers 0, 1, 3 of 4 have no attention map: state space (NemotronHMamba2Mixer) in layer 0, "
        "nothing that mixes tokens (NemotronHMLP, NemotronHMoE) in layers 1, 3.",
    ),
    "falcon_h1": (
        "FalconH1ForCausalLM",
        {**_STATES, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_conv": 4},
        "All 4 layers mix tokens beside attention, without a map: state space (FalconH1Mixer).",
    ),
    "zamba2": (
        "Zamba2ForCausalLM",
        {"layers_block_type": _MAMBA, "hybrid_layer_ids": [1, 3], "mamba_d_state": 8, "mamba_headdim": 8,
         "n_mamba_heads": 8, "mamba_ngroups": 1, "chunk_size": 8, "num_mem_blocks": 1, "adapter_rank": 4,
         "use_mem_rope": False},
        "Layers 0, 2 of 4 have no attention map: state space (Zamba2MambaMixer). "
        "Layers 1, 3 of 4 mix tokens beside attention, without a map: state space (Zamba2MambaMixer).",
    ),
    "deepseek_v3": (
        "DeepseekV3ForCausalLM",
        {**_BY_LATENT, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
         "topk_group": 1, "moe_intermediate_size": 16, "first_k_dense_replace": 1},
        "",
    ),
    "kimi_linear": (
        "KimiLinearForCausalLM",
        {**_BY_LATENT, **_EXPERTS, "q_lora_rank": None, "num_key_value_heads": 4, "linear_num_heads": 4,
         "linear_head_dim": 8, "n_group": 1, "topk_group": 1,
         "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"]},
        "Layers 0, 1, 3 of 4 have no attention map: linear attention (KimiLinearDeltaAttention).",
    ),
    "mamba": (
        "MambaForCausalLM",
        {"state_size": 8, "intermediate_size": 64, "time_step_rank": 4},
        "All 4 layers have no attention map: state space (MambaMixer).",
    ),
    "mamba2": (
        "Mamba2ForCausalLM",
        {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8},
        "All 4 layers have no attention map: state space (Mamba2Mixer).",
    ),
    "rwkv": (
        "RwkvForCausalLM",
        {"attention_hidden_size": 32, "context_length": 64},
        "All 4 layers have no attention map: recurrence (RwkvSelfAttention, RwkvFeedForward).",
    ),
    "xlstm": (
        "xLSTMForCausalLM",
        {"hidden_size": 128, "num_heads": 4, "num_hidden_layers": 2},
        "All 2 layers have no attention map: recurrence (xLSTMLayer).",
    ),
    "llama": ("LlamaForCausalLM", {}, ""),
    "bert": ("BertModel", {}, ""),
}  # fmt: skip
"""By transformers' name: the class, its configuration, and the sentence on what has no attention map."""

KNOWN = [kind for kind in HYBRIDS if kind in configuration_auto.CONFIG_MAPPING]
"""Those that the installed transformers has."""


def hybrid(kind: str, **config: Any) -> Any:
    """A model of `HYBRIDS`, with its weights as they are initialised; `config` changes its configuration."""
    cls, own, _ = HYBRIDS[kind]
    transformers.set_seed(0)
    with warnings.catch_warnings(action="ignore"):
        settings = transformers.AutoConfig.for_model(kind, **{**_TEXT, **own, **config})
        return getattr(transformers, cls)(settings).eval()


def save_hybrid(kind: str, folder: Any) -> Any:
    """Write a model of `HYBRIDS` with a tokenizer to a folder, which is given back."""
    tokenizer = byte_level()
    hybrid(kind, vocab_size=len(tokenizer), max_position_embeddings=512).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
