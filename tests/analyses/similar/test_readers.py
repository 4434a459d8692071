"""Texts whose tokens have a vector each, texts that are read together, and texts beside pictures: beside loops."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file

import headscope as hs
from headscope.analyses.similar import statistics
from headscope.analyses.similar.section import notes
from headscope.errors import InputError, RefusedError
from headscope.models import Model
from tests.helpers.small_models import save_bert, sharpen
from tests.helpers.small_tokenizers import byte_level, demo
from tests.helpers.vision_models import SEEN, SIZE

A, B = "The invoice was paid three weeks late.", "Payment of the bill was delayed."


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Queries are filled up to 24 tokens that no other sees; full stops of a document do not count."""
    folder = tmp_path_factory.mktemp("late")
    save_bert(folder, demo(), vocab_size=len(demo()))
    dense = {"activation_function": "torch.nn.Identity", "module_input_name": "token_embeddings"}
    files: dict[str, Any] = {
        "modules.json": [
            {"path": path, "type": kind}
            for path, kind in (
                ("", "Transformer"),
                ("1", "Dense"),
                ("2", "MultiVectorMask"),
                ("3", "Normalize"),
            )
        ],
        "config_sentence_transformers.json": {
            "model_type": "MultiVectorEncoder",
            "prompts": {"query": "find ", "document": "read "},
        },
        "sentence_bert_config.json": {
            "query_expansion": {"strategy": "fixed", "length": 24, "attend": False, "token": None}
        },
        "1/config.json": dense,
        "2/config.json": {"skiplist_words": [*string.punctuation]},
        "3/config.json": {"module_input_name": "token_embeddings"},
    }
    for name, value in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(value))
    weight = torch.randn(16, 32, generator=torch.Generator().manual_seed(1))
    save_file({"linear.weight": weight}, folder / "1/model.safetensors")
    model = hs.load(str(folder))
    model.module.double()
    return model


def vectors(model: Model, text: str, task: str, hidden: list[int]) -> np.ndarray:
    """Those of the tokens that count."""
    ids = model.tokenizer(("find " if task == "query" else "read ") + text)["input_ids"]
    seen = [place not in hidden for place in range(len(ids))]
    counts = [*seen]
    if task == "query":
        more = 24 - len(ids)
        ids, seen, counts = (
            ids + [model.tokenizer.mask_token_id] * more,
            seen + [False] * more,
            counts + [True] * more,
        )
    else:
        stop = model.tokenizer.convert_tokens_to_ids(".")
        counts = [one and number != stop for one, number in zip(counts, ids, strict=True)]
    with torch.no_grad():
        mask = torch.tensor([seen]).long()
        states = model.module(input_ids=torch.tensor([ids]), attention_mask=mask).last_hidden_state[0]
    weight = torch.randn(16, 32, generator=torch.Generator().manual_seed(1)).double()
    return torch.nn.functional.normalize(states @ weight.mT, dim=-1)[torch.tensor(counts)].numpy()


def maxsim(a: np.ndarray, b: np.ndarray) -> float:
    return float((a @ b.T).max(1).sum())


def terms(model: Model, a: str, b: str) -> np.ndarray:
    """What each token of A has with the token of B that it picks, ``[token of A, token of B]``."""
    of_a, of_b = vectors(model, a, "query", []), vectors(model, b, "document", [])
    stop = model.tokenizer.convert_tokens_to_ids(".")
    ids = model.tokenizer("read " + b)["input_ids"]
    counts = [place for place, number in enumerate(ids) if number != stop]
    made = np.zeros((len(of_a), len(ids)))
    for place, row in enumerate(of_a @ of_b.T):
        made[place, counts[row.argmax()]] = row.max()
    return made


def places(model: Model, text: str, before: str = "") -> list[list[int]]:
    """The tokens of each word behind a prompt."""
    read = model.tokenizer(before + text)
    words: dict[int, list[int]] = {}
    for place, word in enumerate(read.word_ids()):
        if word is not None and read.token_to_chars(place).start >= len(before):
            words.setdefault(word, []).append(place)
    return [*words.values()]


@pytest.mark.slow
@pytest.mark.slow
def test_terms_sum_to_the_score_and_effects_are_those_of_a_loop(late: Model) -> None:
    found = hs.similar(late, A, B, chance=False)
    whole = vectors(late, A, "query", []), vectors(late, B, "document", [])
    score = maxsim(*whole)
    assert float(found["similarity"][0]) == pytest.approx(score, abs=1e-10)
    every = terms(late, A, B)
    assert every.sum() == pytest.approx(score, abs=1e-10)
    words = places(late, A, "find "), places(late, B, "read ")
    loop = [every[np.ix_(one, other)].sum() for one in words[0] for other in words[1]]
    assert np.count_nonzero(loop) > len(words[0]) / 2
    np.testing.assert_allclose(found["interaction"], loop, atol=1e-10)
    rows: Any = hs.table(found)
    wanted = [score - maxsim(vectors(late, A, "query", word), whole[1]) for word in words[0]]
    wanted += [score - maxsim(whole[0], vectors(late, B, "document", word)) for word in words[1]]
    np.testing.assert_allclose(rows["effect"], wanted, atol=1e-10)
    assert rows["text"].tolist() == [*A[:-1].split(), ".", *B[:-1].split(), "."]
    assert found["direction"].isnull().all()


def test_sentences_first_then_words_of_late_interaction(late: Model) -> None:
    found = hs.similar(late, A, f"{B} Rain fell.", ["sentence", "word"], chance=False)
    rows: Any = statistics.table(found)
    shown = found["interaction"].values.reshape([*rows["side"].value_counts(sort=False)])
    sides = [rows[rows["side"] == side] for side in "ab"]
    first, words = ([side["level"].to_numpy() == level for side in sides] for level in ("sentence", "word"))
    assert shown[np.ix_(*first)].sum() == pytest.approx(shown[np.ix_(*words)].sum(), abs=1e-10)


def test_heads_are_not_asked_of_what_has_no_one_vector(late: Model) -> None:
    with pytest.raises(RefusedError, match="through: expected a model with one vector a text"):
        hs.similar(late, A, B, chance=False, through=1)


@pytest.fixture(scope="module")
def together() -> Model:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(demo()), max_position_embeddings=64, num_labels=1, attn_implementation="eager", **SIZE
    )
    module = transformers.BertForSequenceClassification(config).eval()
    sharpen(module)
    return hs.load((module.double(), demo()))


def read(model: Model, a: str, b: str, hidden: list[int]) -> float:
    """The score of two texts in one row, some of whose tokens no other sees."""
    ready = dict(model.tokenizer(a, b, return_tensors="pt"))
    ready["attention_mask"][0, hidden] = 0
    with torch.no_grad():
        return float(model.module(**ready).logits[0, 0].sigmoid())


@pytest.mark.slow
@pytest.mark.slow
def test_texts_that_are_read_together_are_those_of_a_loop(together: Model) -> None:
    found = hs.similar(together, A, B)
    shift = len(together.tokenizer(A)["input_ids"]) - 1
    of_a = places(together, A)
    of_b = [[place + shift for place in word] for word in places(together, B)]
    whole = read(together, A, B, [])
    assert float(found["similarity"][0]) == pytest.approx(whole, abs=1e-12)
    effects = [whole - read(together, A, B, word) for word in (*of_a, *of_b)]
    assert max(map(abs, effects)) > 1e-4
    np.testing.assert_allclose(found["unit_effect"], effects, atol=1e-12)
    loop = [
        whole - read(together, A, B, one) - read(together, A, B, other) + read(together, A, B, one + other)
        for one in of_a
        for other in of_b
    ]
    np.testing.assert_allclose(found["interaction"], loop, atol=1e-12)
    assert found["p"].isnull().all()  # unless it is asked for: each needs passes of its own


def test_interactions_of_long_texts_read_together_are_left_out(
    together: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = hs.similar(together, A, B)
    monkeypatch.setattr("headscope.analyses.similar.readers.PASSES", 20)
    found = hs.similar(together, A, B)
    assert found["interaction"].isnull().all()
    np.testing.assert_allclose(found["unit_effect"], whole["unit_effect"], atol=1e-12)
    assert any(line.startswith("interactions are not measured") for line in notes(found))


def test_the_longer_text_is_cut_first(together: Model) -> None:
    long = " ".join([B] * 12)
    texts = [A, long, long], [long, A, " ".join([A] * 12)]
    found = hs.similar(together, *texts)["similarity"].values
    for value, *both in zip(found, *texts, strict=True):
        ready = together.tokenizer(*both, truncation="longest_first", max_length=64, return_tensors="pt")
        with torch.no_grad():
            assert value == pytest.approx(float(together.module(**ready).logits[0, 0].sigmoid()), abs=1e-12)


def clip() -> tuple[Any, Any]:
    tokenizer = byte_level()
    settings = transformers.CLIPConfig(
        text_config=dict(SIZE, vocab_size=len(tokenizer), max_position_embeddings=32, eos_token_id=2),
        vision_config=SEEN,
        projection_dim=8,
    )
    looks = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}
    )
    return transformers.CLIPModel(settings), transformers.CLIPProcessor(
        image_processor=looks, tokenizer=tokenizer
    )


def siglip() -> tuple[Any, Any]:
    tokenizer = byte_level()
    tokenizer.pad_token = tokenizer.eos_token
    settings = transformers.SiglipConfig(
        text_config=dict(SIZE, vocab_size=len(tokenizer), max_position_embeddings=32, projection_size=32),
        vision_config=SEEN,
    )
    looks = transformers.SiglipImageProcessorPil(size={"height": 56, "width": 56})
    return transformers.SiglipModel(settings), transformers.SiglipProcessor(
        image_processor=looks, tokenizer=tokenizer
    )


@pytest.fixture(scope="module", params=[clip, siglip])
def dual(request: pytest.FixtureRequest) -> tuple[Model, Any]:
    torch.manual_seed(0)
    module, processor = request.param()
    sharpen(module)
    return hs.load((module.eval().double(), processor)), processor


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (80, 100, 3)).astype(np.uint8)
    pixels[:40, :50] = [200, 30, 30]
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


TEXT = "a dog on grass"


def inputs(dual: tuple[Model, Any], picture: Path) -> dict[str, torch.Tensor]:
    from PIL import Image

    model, processor = dual
    kind = model.config.model_type
    full = {"padding": "max_length", "max_length": 32} if kind == "siglip" else {}
    made = processor(text=[TEXT], images=[Image.open(picture)], return_tensors="pt", **full)
    ready = {name: made[name] for name in ("input_ids", "pixel_values")}
    return {**ready, "pixel_values": ready["pixel_values"].double()}


@pytest.mark.slow
@pytest.mark.slow
def test_a_text_beside_a_picture_is_near_by_transformers_own_logits(
    dual: tuple[Model, Any], picture: Path
) -> None:
    from PIL import Image

    module: Any = dual[0].module
    with torch.no_grad():
        logits = module(**inputs(dual, picture)).logits_per_image
        cosine = float((logits - getattr(module, "logit_bias", 0)) / module.logit_scale.exp())
    for given in (str(picture), Image.open(picture)):
        found = hs.similar(dual[0], TEXT, given)
        assert float(found["similarity"][0]) == pytest.approx(cosine, abs=1e-9)
    found = hs.similar(dual[0], TEXT, [Image.new("RGB", (64, 64)), str(picture)])
    at = found["document"].values.tolist().index(1)
    assert float(found["ranked"][at]) == pytest.approx(cosine, abs=1e-9)
    assert sorted(found["document_text"].values) == ["picture", "picture.png"]


def seen_alone(module: Any, pixels: torch.Tensor, hidden: list[int]) -> torch.Tensor:
    """The vector of a picture of which no other patch sees some; by masks given to the module's own parts."""
    vision, clips = module.vision_model, module.config.model_type == "clip"
    states = vision.embeddings(pixels)
    states = vision.pre_layrnorm(states) if clips else states
    mask = torch.zeros(1, 1, 1, states.shape[1], dtype=states.dtype)
    mask[..., [place + clips for place in hidden]] = -torch.inf
    states = vision.encoder(inputs_embeds=states, attention_mask=mask).last_hidden_state
    states = vision.post_layernorm(states[:, 0] if clips else states)
    if clips:
        return module.visual_projection(states)[0]
    head = vision.head
    keys = torch.isinf(mask[:, 0, 0])
    pooled = head.attention(head.probe, states, states, key_padding_mask=keys)[0]
    return (pooled + head.mlp(head.layernorm(pooled)))[0, 0]


@pytest.mark.slow
@pytest.mark.slow
def test_words_and_patches_are_those_of_a_loop(dual: tuple[Model, Any], picture: Path) -> None:
    model = dual[0]
    module: Any = model.module
    found = hs.similar(model, TEXT, str(picture))
    ready = inputs(dual, picture)
    words = places(model, TEXT)

    def spoken(hidden: list[int]) -> torch.Tensor:
        mask = torch.ones_like(ready["input_ids"])
        mask[0, hidden] = 0
        return module.get_text_features(ready["input_ids"], mask).pooler_output[0]

    with torch.no_grad():
        of_a = [spoken([]), *(spoken(word) for word in words)]
        of_b = [seen_alone(module, ready["pixel_values"], some) for some in ([], *([at] for at in range(16)))]
    near = np.array([[float(torch.cosine_similarity(a, b, 0)) for b in of_b] for a in of_a])
    np.testing.assert_allclose(
        found["unit_effect"], near[0, 0] - np.array([*near[1:, 0], *near[0, 1:]]), atol=1e-9
    )
    assert np.abs(near[0, 0] - near[0, 1:]).max() > 1e-4
    wanted = near[0, 0] - near[1:, :1] - near[:1, 1:] + near[1:, 1:]
    np.testing.assert_allclose(found["interaction"].values.reshape(wanted.shape), wanted, atol=1e-9)


def test_a_picture_is_refused_by_what_reads_texts_alone(together: Model, late: Model) -> None:
    from PIL import Image

    for model in (together, late):
        with pytest.raises(InputError, match="b: expected a text, found <PIL"):
            hs.similar(model, TEXT, Image.new("RGB", (8, 8)))


def test_a_picture_is_refused_what_only_texts_have(dual: tuple[Model, Any], picture: Path) -> None:
    for more in ({"chance": True}, {"delete": True}):
        with pytest.raises(
            InputError, match="chance, delete: expected two texts beside them, found a picture"
        ):
            hs.similar(dual[0], TEXT, str(picture), **more)
    with pytest.raises(RefusedError, match="through: expected a model with one vector a text"):
        hs.similar(dual[0], TEXT, str(picture), through=1)
