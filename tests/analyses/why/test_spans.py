"""What a prompt is cut into: texts, pairs, conversations, ids, pictures and sounds, one span in another."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import transformers
from tokenizers import decoders

import headscope as hs
from headscope.analyses.why.asked import ask
from headscope.analyses.why.spans import Prompt, Source, cut
from headscope.core.grid import Frames, Grid
from headscope.core.media import Picture
from headscope.models.encode import encode
from tests.helpers.small_models import save_llama
from tests.helpers.small_tokenizers import demo, unigram

CHATML = (
    "{% if tools %}{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}"
    "{% for document in documents or [] %}[{{ document.title }}] {{ document.text }}\n{% endfor %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def said(prompt: Prompt, spans: Any, **options: Any) -> list[str]:
    return [source.text for source in cut(prompt, spans, **options)]


def read(prompt: Prompt, source: Source) -> str:
    return "".join(text for text, there in zip(prompt.texts, source.tokens, strict=True) if there)


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Any:
    loaded = hs.load(
        save_llama(
            tmp_path_factory.mktemp("talker"),
            hidden_size=32,
            num_hidden_layers=2,
            intermediate_size=48,
            max_position_embeddings=512,
        )
    )
    tokenizer = copy.deepcopy(loaded.tokenizer)
    tokenizer.chat_template = CHATML
    return hs.load((loaded.module, tokenizer))


def test_a_text_and_what_lies_in_it() -> None:
    tokens = demo_tokens("The cat sat. It slept!\n\nA dog barked.")
    prompt = Prompt(tokens, tokens.texts or ())
    assert said(prompt, "sentence") == ["The cat sat.", "It slept!", "A dog barked."]
    assert (
        said(prompt, "paragraph") == said(prompt, "document") == ["The cat sat. It slept!", "A dog barked."]
    )
    nested = cut(prompt, ["paragraph", "sentence", "word"])
    assert [source.parent for source in nested[:5]] == [-1, -1, 0, 0, 1]
    assert {nested[source.parent].level for source in nested[5:]} == {"sentence"}
    assert [source.text for source in nested[5:9]] == ["The", "cat", "sat", "."]
    assert read(prompt, nested[2]) == "The cat sat."
    for level in ("paragraph", "sentence"):  # every token that is not special is in one
        every = sum(source.tokens.astype(int) for source in nested if source.level == level)
        assert every.tolist() == (~tokens.mask("special")).astype(int).tolist()
    first = cut(Prompt(tokens.take(slice(1, None)), (tokens.texts or ())[1:]), "sentence", sinks=True)
    assert not first[0].tokens[0]


def demo_tokens(text: str, pair: str | None = None) -> hs.Tokens:
    return encode(demo(), text, pair)


def test_spans_of_ones_own() -> None:
    tokens = demo_tokens("The cat sat.", "The dog ran.")
    prompt = Prompt(tokens, tokens.texts or (), pair=12)
    given = [(0, 7), hs.Span(4, 7, "b"), "sat", "The", "The"]
    assert said(prompt, given) == ["The cat", "dog", "sat", "The", "The"]
    assert [source.start for source in cut(prompt, given)][2:4] == [8, 12]  # one after the other
    assert said(prompt, "sentence") == ["The cat sat.", "The dog ran."]


def test_pictures_and_sounds() -> None:
    picture = Grid(8, 8, picture=Picture(np.zeros((80, 80, 3), np.uint8)))
    spans = cut(Prompt(picture, [""] * len(picture)), "sentence")
    assert [int(source.tokens.sum()) for source in spans] == [4] * 16
    assert np.flatnonzero(spans[1].tokens).tolist() == [2, 3, 10, 11]
    box = cut(Prompt(picture, [""] * len(picture)), [(0, 0, 10, 80)])
    assert np.flatnonzero(box[0].tokens).tolist() == list(range(0, 64, 8))
    frames = Frames(10, 0.25)
    assert [int(source.tokens.sum()) for source in cut(Prompt(frames, [""] * 10), "sound")] == [4, 4, 2]
    assert np.flatnonzero(cut(Prompt(frames, [""] * 10), [(0.5, 1.0)])[0].tokens).tolist() == [2, 3]


def test_a_conversation(talker: Any) -> None:
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "The cat sat. Where?"},
        {"role": "assistant", "content": "On the mat."},
    ]
    tools = [
        {"type": "function", "function": {"name": name, "description": f"{name} it"}}
        for name in ("find", "go")
    ]
    documents = [{"title": "one", "text": "A dog."}, {"id": "two", "text": "A dog."}]
    asked = ask(talker, talk, tools=tools, documents=documents)
    assert (asked.text, asked.generated) == ("On the mat.", False)
    messages = cut(asked.prompt, "message")
    assert [source.text for source in messages] == ["system: Be brief.", "user: The cat sat. Where?"]
    assert read(asked.prompt, messages[1]) == "The cat sat. Where?"
    assert [source.text[:5] for source in cut(asked.prompt, "tool")] == ["find:", "go: {"]
    kept = cut(asked.prompt, ["document", "word"])
    assert [source.text for source in kept[:3]] == ["one: A dog.", "two: A dog.", "A"]
    assert kept[0].end <= kept[1].start
    assert said(asked.prompt, ["message", "sentence"])[2:] == ["Be brief.", "The cat sat.", "Where?"]
    assert {"Be brief.", "Where?"} <= {*said(asked.prompt, "sentence")}


def test_ids_and_their_answer(talker: Any) -> None:
    text = "The cat sat."
    ids = talker.encode(text).ids.tolist()
    asked = ask(talker, ids, " It slept.")
    assert (asked.prompt.text, asked.text) == (text, " It slept.")
    assert asked.ready["input_ids"].shape[1] == len(ids) + len(asked.targets) - 1
    logged = ask(talker, talker.from_ids(ids, asked.targets.tolist()))
    assert logged.targets.tolist() == asked.targets.tolist()
    assert (logged.text, len(logged.prompt.tokens)) == (" It slept.", len(ids))
    some = ask(talker, text, " It slept.", part=(4, 9))
    assert "".join(np.array(some.texts)[some.part]).strip() in ("slept", "slept.")


def test_an_answer_is_read_together_with_its_prompt() -> None:
    tokenizer = copy.deepcopy(unigram())
    tokenizer.backend_tokenizer.decoder = decoders.Metaspace()
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=2, n_positions=16)
    model = hs.load((transformers.GPT2LMHeadModel(config), tokenizer))
    assert encode(tokenizer, "s.", special=False).pieces == ("▁", "s", ".")
    ids = encode(tokenizer, "The cat sat", special=False).ids
    assert ids is not None
    answered = ask(model, ids.tolist(), "s.")
    assert tokenizer.convert_ids_to_tokens(answered.targets.tolist()) == ["s", "."]
