"""What a live page begins with: texts that show something, by the kind of the model."""

from __future__ import annotations

from headscope.core.demo import DEMO_LM_NAME, DEMO_NAME
from headscope.models import Model
from headscope.views.wire import LiveExample, LiveInput

_OURS: dict[str, list[LiveExample]] = {
    DEMO_NAME: [
        {
            "name": "a paraphrase",
            "input": {
                "text": "The invoice was paid three weeks late.",
                "pair": "Payment of the bill was delayed.",
            },
        },
        {
            "name": "a negation",
            "input": {"text": "The film was not good.", "pair": "The film was good."},
        },
        {
            "name": "two senses of a word",
            "input": {
                "text": "The bank of the river was wet.",
                "pair": "She took money to the bank.",
                "together": True,
            },
            "look": "L5H6 looks at “wet”, from the river's “bank” above all.",
            "layer": 5,
            "head": 6,
            "place": 2,
            "change": "L5H6 off",
        },
        {
            "name": "a counterpart",
            "input": {"text": "Paris is in France.", "pair": "Rome is in Italy.", "together": True},
            "look": "L5H3 looks from “Rome” in B at its counterpart in A, “Paris”.",
            "layer": 5,
            "head": 3,
            "place": 7,
            "change": "L5H3 off",
        },
    ],
    DEMO_LM_NAME: [
        {
            "name": "an answer that flips",
            "input": {"text": "Paris is the capital of France. Rome is the capital of"},
            "look": "L23H5 looks from the end at “Rome”. The answer hangs on it.",
            "layer": 23,
            "head": 5,
            "place": 11,
            "change": "L23H5 off",
        },
        {
            "name": "agreement",
            "input": {"text": "The keys to the cabinet"},
            "look": "L26H0 looks past “cabinet” at “keys”, with which the verb agrees.",
            "layer": 26,
            "head": 0,
            "place": 4,
            "change": "L26H0 off",
        },
        {
            "name": "a copied name",
            "input": {"text": "When Mary and John went to the store, John gave a drink to"},
            "look": "L23H0 looks from the end at “Mary”. Other heads do so, too.",
            "layer": 23,
            "head": 0,
            "place": 13,
            "change": "L23H0 off",
        },
    ],
}
"""Of the models that packages carry: what their heads were seen to do, which tests/live/test_first.py sees again."""


def first_inputs(model: Model) -> list[LiveExample]:
    """Three texts to begin with; of a model that nobody has looked at, what models of its kind are known for."""
    if model.tokenizer is None:
        return []
    return _OURS.get(model.name) or [
        {"name": name, "input": given, "look": f"{look} Whether this model does, is to be seen."}
        for name, given, look in _of_kind(model)
    ]


def _of_kind(model: Model) -> list[tuple[str, LiveInput, str]]:
    kind = type(model.module).__name__
    mask = getattr(model.tokenizer, "mask_token", None)
    if model.encoder_decoder:
        return [
            (
                "a copied name",
                {"text": "Mary met John in Rome.", "target": "Mary"},
                "Models that read and write look across at what they write next.",
            ),
            (
                "agreement",
                {"text": "The keys to the old cabinet are lost.", "target": "The keys"},
                "Decoders look back at the noun that their verb is to agree with.",
            ),
            (
                "a pronoun",
                {"text": "She sold the house because it was small.", "target": "She"},
                "Encoders have heads that look from a pronoun at what it may mean.",
            ),
        ]
    if model.causal and "Classification" not in kind:
        return [
            (
                "agreement",
                {"text": "The keys to the old cabinet"},
                "Language models have heads that look past “cabinet” at “keys”, with which the verb agrees.",
            ),
            (
                "a copied name",
                {"text": "When Mary and John went to the store, John gave a drink to"},
                "Language models have heads that look from the end at the name to write.",
            ),
            (
                "an answer",
                {"text": "The capital of France is"},
                "Rank the heads, and switch some off: at some point a language model answers otherwise.",
            ),
        ]
    if "MaskedLM" in kind and mask:
        return [
            (
                "agreement",
                {"text": f"The keys to the old cabinet {mask} on the table."},
                "Masked language models have heads that look past “cabinet” at “keys”, with which the verb agrees.",
            ),
            (
                "a pronoun",
                {"text": f"Mary thanked John because {mask} had helped."},
                "Masked language models have heads that look from a pronoun at whom it may mean.",
            ),
            (
                "an answer",
                {"text": f"The capital of France is {mask}."},
                "Rank the heads, and switch some off: at some point a masked language model answers otherwise.",
            ),
        ]
    if "Classification" in kind:
        return [
            (
                "a negation",
                {"text": "The film was not good."},
                "Classifiers have heads that look from what is negated at the word that does it.",
            ),
            (
                "without it",
                {"text": "The film was good."},
                "Beside the text with “not”: the class of many a classifier turns on that one word.",
            ),
            (
                "two halves",
                {"text": "The film was long, but I was never bored."},
                "Classifiers have heads that look at “but”, after which stands what counts.",
            ),
        ]
    return [
        (
            "two texts alike",
            {"text": "A dog chased the cat.", "pair": "The cat ran from a dog."},
            "Encoders have heads that look from a word in A at its like in B.",
        ),
        (
            "a pronoun",
            {"text": "The animal didn't cross the street because it was too tired."},
            "Encoders have heads that look from a pronoun at what it may mean.",
        ),
        (
            "an object",
            {"text": "She sold the old house to a young man."},
            "Encoders have heads that look from an object at its verb.",
        ),
    ]
