"""A lab: from one file of text and tasks, the page, the notebook, and the instructor's of both.

A fine-tuned copy of a model, made in seconds: what the lab on fine-tuning compares where none is named.
"""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from headscope import corpora
from headscope.analyses.compare.models.run import models as compare_models
from headscope.analyses.lab.answers import (
    READ,
    LabScores,
    builtin,
    maps_of,
    named,
    places,
    scores,
    short,
    spoken,
)
from headscope.attention.load import load
from headscope.attention.one import tokens_of
from headscope.core.heads import Head
from headscope.core.saving import check_place, replacing
from headscope.core.types import AnyDict, AnyMapping, AnyPath
from headscope.core.validation import validated
from headscope.errors import InputError
from headscope.live.explore import Exploration, explore
from headscope.live.standalone import Weights, carry, standalone_page
from headscope.live.view import view
from headscope.models import Model
from headscope.views.explorer import views_page
from headscope.views.lab import LabCheck, LabGuess, LabInfo, LabTask
from headscope.views.payload import ExplorerState
from headscope.views.view import View
from headscope.views.wire import LiveInput

STEPS, BATCH, RATE = 24, 16, 1e-4


def fine_tuned(model: Model, *, steps: int = STEPS, seed: int = 0) -> Model:
    """A copy of an encoder that was trained to tell sentences of the built-in corpus from their words in another order.

    It takes some ten seconds on two cores; the model itself is left as it is.
    """
    sentences = [str(example.text).split() for example in corpora.builtin(pack=None)]
    draw: Any = np.random.default_rng(seed)
    module: Any = copy.deepcopy(model.module).eval()  # without dropout: the copy differs by what it learnt
    last = torch.zeros(model.text_config.hidden_size, 2, device=model.device, requires_grad=True)
    learns: Any = torch.optim.AdamW([*module.parameters(), last], lr=RATE)
    for _ in range(steps):
        chosen: list[list[str]] = [sentences[place] for place in draw.choice(len(sentences), BATCH)]
        labels = torch.arange(BATCH, device=model.device) % 2
        texts: list[str] = [
            " ".join(draw.permutation(words) if at % 2 else words) for at, words in enumerate(chosen)
        ]
        given = model.tokenizer(texts, padding=True, truncation=True, max_length=64, return_tensors="pt").to(
            model.device
        )
        states = module(**given, output_hidden_states=True).hidden_states[-1]
        loss: Any = nn.functional.cross_entropy(pooled(states, given["attention_mask"]) @ last, labels)
        learns.zero_grad()
        loss.backward()
        learns.step()
    note = f"trained in {steps} steps to tell sentences from their words in another order"
    return replace(
        model, module=module, name=f"{model.name}, fine-tuned", notes=[note], revision=None, recipe=None
    )


def pooled(states: Tensor, mask: Tensor) -> Tensor:
    """The mean state of each input's own tokens: padding is none.

    >>> pooled(torch.tensor([[[1.0], [3.0], [99.0]]]), torch.tensor([[1, 1, 0]])).tolist()
    [[2.0]]
    """
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


LABS = ("heads", "patterns", "clark", "copying", "finetuning")
"""The labs, in the order in which they are best done."""

CARRIES = (
    "A page can run one model. This one compares two and carries neither, so its picture is of this text alone; in a "
    "notebook hs.view(a, text, against=b) draws another."
)
"""What the page about two models says."""


def lesson(name: str) -> AnyDict:
    """The file of a lab: its text and tasks. Raises `InputError` for a name that is none."""
    if name not in LABS:
        raise InputError(f"lab: expected {', '.join(LABS)}, found {name!r}")
    return tomllib.loads((files("headscope.analyses.lab") / f"{name}.toml").read_text("utf-8"))


class Lab:
    """A lab in a notebook: `show` the picture of a task, `check` what was done with it, and ask for a `hint`.

    Attributes:
        name: of the lab.
        title: what it is about.
        intro: what a student reads first.
        tasks: of the lab, with what is right by its model.
        models: what it is about; of finetuning the model, and what it was before.
        given: the names that a notebook loads its models by, where they are not the lab's own.
    """

    def __init__(self, name: str, models: Sequence[Model], given: Sequence[str] = ()) -> None:
        content = lesson(name)
        self.name, self.title, self.intro = name, str(content["title"]), _joined(content["intro"])
        self.models, self.given = list(models), list(given)
        self._measures: Any = None
        self._shown: dict[int, Exploration | View] = {}
        if len(models) == 2:
            compared: Any = compare_models(models[0], models[1], builtin(models[0]), measures=["entropy"])
            self._measures = compared.figures[["js"]].rename(js="drift")
            self._measures["drift"].attrs |= {"title": "drift", "units": "nats"}
            note = "".join(f" ({text})" for text in models[0].notes)
            self.intro = self.intro.format(a=models[0].name + note, b=models[1].name)
        of = None
        self.tasks: list[LabTask] = []
        for task in content["task"]:
            text, pair = task.get("text", content["text"]), task.get("pair", content.get("pair"))
            tokens = tokens_of(models[0], text, pair)
            if "score" in task:
                of = scores(models[0], tokens, task["score"], self._measures)
            assert of is not None, "the first task of a lab has a score"
            self.tasks.append(_task(task, models[0], tokens, of, text, pair))

    def __repr__(self) -> str:
        return f"Lab({self.name!r}, {self.title!r}, {len(self.tasks)} tasks)"

    def show(self, task: int, guess: str | None = None) -> Exploration | View:
        """The picture of a task, counted from 1. Where the task asks for a guess, give yours first.

        Raises `InputError` where there is no such task, or where it waits for a guess.
        """
        this = self._task(task)
        if this["guess"] is not None and guess is None:
            raise InputError(f'lab: guess first, such as show({task}, "{this["guess"]["choices"][0]}")')
        self._shown[task] = self._picture(this)
        return self._shown[task]

    def check(self, task: int, answer: Any = None) -> str:
        """Whether a task is solved by what its picture shows now, and by the figure `answer`, if one is asked for.

        Where a picture cannot be clicked, `answer` is the name of a head.
        """
        this = self._task(task)
        if (shown := self._shown.get(task)) is None:
            return f"Show the picture first: lab.show({task})"
        state = shown.state
        if isinstance(answer, str):
            head = Head.parse(answer)
            state = {**state, "layer": head.layer, "heads": [head.head]}
        asked = shown.asked if isinstance(shown, Exploration) else None
        lacks = lacking(this, state, asked, answer if isinstance(answer, int | float) else None)
        return f"Yes. {this['answer']}" if lacks is None else f"{lacks} lab.hint({task}) helps."

    def hint(self, task: int) -> str:
        """Help with a task."""
        return self._task(task)["hint"]

    def save(self, path: AnyPath, *, instructor: bool = False, weights: Weights = "int8") -> Path:
        """Write the lab as one page that carries its model (``.html``), or as a notebook (``.ipynb``).

        Args:
            path: where.
            instructor: with the answers from the beginning.
            weights: how the page holds the weights, as in `headscope.live.explore.Exploration.save`.
        """
        path = Path(path)
        if path.suffix.lower() not in (".html", ".ipynb"):
            raise InputError(
                f"{path}: expected a file that ends in .html or .ipynb, found {path.suffix or 'none'}"
            )
        check_place(path)
        text = (
            self._page(instructor, weights) if path.suffix.lower() == ".html" else self._notebook(instructor)
        )
        with replacing(path) as file:
            file.write_text(text, encoding="utf-8")
        return path

    def _task(self, task: int) -> LabTask:
        if not 1 <= task <= len(self.tasks):
            raise InputError(f"lab: expected a task from 1 to {len(self.tasks)}, found {task}")
        return self.tasks[task - 1]

    def _picture(self, task: LabTask) -> Exploration | View:
        state: Any = task["state"]
        if len(self.models) == 1:
            return explore(self.models[0], task["text"], pair=task["pair"], **state)
        model, against = self.models
        return view(model, task["text"], pair=task["pair"], against=against, measures=self._measures, **state)

    def _page(self, instructor: bool, weights: Weights) -> str:
        first = self.tasks[0]
        info = LabInfo(title=self.title, intro=self.intro, tasks=self.tasks, answers=instructor)
        if len(self.models) == 2:
            shown: Any = self._picture(first)
            info["intro"] += f"\n\n{CARRIES}"
            return views_page([(shown.payload, shown.blobs)], title=self.title, lab=info)
        model, state = self.models[0], cast("AnyDict", first["state"])
        given = LiveInput(text=first["text"])
        if first["pair"] is not None:
            given["pair"] = first["pair"]
        runner = carry(model, given, weights=weights)
        return standalone_page(view(model, first["text"], pair=first["pair"], **state), runner, lab=info)

    def _notebook(self, instructor: bool) -> str:
        cells = [
            ("markdown", f"# {self.title}\n\n{self.intro}"),
            (
                "code",
                f"import headscope as hs\n\nlab = hs.lab({', '.join(map(repr, [self.name, *self.given]))})",
            ),
        ]
        for number, task in enumerate(self.tasks, 1):
            guess = task["guess"]
            asked = f"## {number}. {task['title']}\n\n"
            if guess is not None:
                asked += "\n".join(
                    [f"**Guess first.** {guess['ask']}\n", *(f"- {choice}" for choice in guess["choices"])]
                )
                cells += [("markdown", asked), ("code", f'lab.show({number}, guess="…")')]
                cells += [("markdown", task["ask"])]
            else:
                cells += [("markdown", asked + task["ask"]), ("code", f"lab.show({number})")]
            typed = ", ..." if "low" in task["check"] else ""
            cells += [("code", f"lab.check({number}{typed})")]
            if instructor:
                cells += [("markdown", f"**Answer.** {task['answer']}\n\n**Hint.** {task['hint']}")]
        kept: list[AnyDict] = [
            {"cell_type": kind, "id": f"lab-{place}", "metadata": {}, "source": source}
            | ({"execution_count": None, "outputs": []} if kind == "code" else {})
            for place, (kind, source) in enumerate(cells)
        ]
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        return json.dumps(
            {"cells": kept, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5},
            ensure_ascii=False,
            indent=1,
        )


def _joined(text: str) -> str:
    """Paragraphs, each on a line of its own."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _task(task: AnyMapping, model: Model, tokens: Any, of: LabScores, text: str, pair: str | None) -> LabTask:
    """A task with what is right, and with the figures that its text names."""
    checks = task["check"]
    best, right = of.best, of.right
    opened = best if task.get("open") == "best" else of.worst
    state = ExplorerState(layer=opened.layer, heads=[opened.head])
    state.update(task.get("state", {}))
    check = LabCheck()
    values: AnyDict = {
        "best": best,
        "layer": best.layer,
        "score": short(of.of[best]),
        "right": named(of, right),
        "heads": len(of.of),
        "tokens": len(tokens),
        "uniform": short(math.log(len(tokens))),
        "baseline": short(of.baseline),
        "least": named(of, [of.worst]),
        "layers": ", ".join(short(mean) for mean in of.layers),
    }
    pin = places(tokens, task["pin"])[-1] if "pin" in task else 0
    if "head" in checks:
        check["heads"] = [[*head] for head in right]
    if "best" in checks:
        check["heads"] = [[*best]]
    if "pin" in checks:
        check["pin"] = [pin]
    if "state" in checks:
        check["state"] = task["shows"]
    if "change" in checks:
        check["changes"] = [f"{best} off"]
    if "own" in checks:
        check["own_text"] = True
    if "figure" in checks:
        kind = task["figure"]
        if kind == "says":
            first, without = spoken(model, text), spoken(model, text, [f"{best} off"])
            values |= {
                "token": first.token,
                "before": short(first.probability),
                "after": short(without.probability),
            }
            value = without.probability if "change" in checks else first.probability
        elif kind == "weight":
            value = float(maps_of(model, tokens)[best][pin].max())
        else:
            value = len(of.of) if kind == "heads" else of.of[best]
        check["low"], check["high"] = value - READ[kind], value + READ[kind]
        values["figure"] = f"{value:.0f}" if kind == "heads" else short(value)
    guess = task.get("guess")
    filled = {name: _joined(task[name]).format_map(values) for name in ("title", "ask", "hint", "answer")}
    return LabTask(
        title=filled["title"],
        guess=guess and LabGuess(ask=guess["ask"].format_map(values), choices=guess["choices"]),
        text=text,
        pair=pair,
        state=state,
        ask=filled["ask"],
        check=check,
        hint=filled["hint"],
        answer=filled["answer"],
    )


def lacking(task: LabTask, state: AnyMapping, asked: AnyMapping | None, typed: float | None) -> str | None:
    """What a task still lacks; None: it is solved. A page says the same (``frontend/src/ui/lab.ts``)."""
    check = task["check"]
    same = asked is None or asked["input"].get("text", "").strip() == task["text"]
    if "low" in check and typed is None:
        return "A figure is missing, such as .25."
    if check.get("own_text") and same:
        return "This is still the text of the lab: type one of your own."
    if ("pin" in check or "low" in check) and not same:
        return "This is another text than the task's: show the picture again."
    if "heads" in check and [state.get("layer"), (state.get("heads") or [None])[-1]] not in check["heads"]:
        return "This head is not it."
    if "pin" in check:
        side, place = state.get("pin") or ("", -1)
        if side != "from" or place not in check["pin"]:
            return "The token is not pinned at the left yet: click it."
    if any(state.get(key) != value for key, value in check.get("state", {}).items()):
        return "The picture does not show that yet."
    if "changes" in check and not any(
        [change] == (asked or {}).get("changes") for change in check["changes"]
    ):
        return "The change is not made, or not alone."
    if typed is not None and not check.get("low", -math.inf) <= typed <= check.get("high", math.inf):
        return "This figure is not it."
    return None


@validated
def lab(name: str, model: Any = None, against: Any = None) -> Lab:
    """A lab of 18 minutes in a notebook: it asks, shows, checks what you did with the picture, and gives hints.

    Args:
        name: ``heads`` (what a head is), ``patterns`` (BERT's patterns), ``clark`` (what BERT looks at), ``copying``
            (which heads copy) or ``finetuning`` (what fine-tuning changed).
        model: from `headscope.load`, or what it takes; by default the demo model, of ``copying`` ``demo-lm``.
        against: of ``finetuning``, what `model` was before; by default `model` is fine-tuned here, in seconds.

    Raises:
        InputError: another name, or a model of another kind.

    >>> hs.lab("heads", model).check(1)
    'Show the picture first: lab.show(1)'
    """
    content = lesson(name)
    given = [str(one) for one in (model, against) if isinstance(one, (str, Path))]
    if against is not None and name != "finetuning":
        raise InputError(f"lab: expected a second model for finetuning alone, found one for {name}")
    first = _loaded(content.get("model") if model is None else model)
    if first.tokenizer is None or first.encoder_decoder or first.causal is not bool(content.get("causal")):
        kinds = ("an encoder of texts such as BERT", "a language model that writes, such as GPT-2")
        raise InputError(f"lab: {name} expects {kinds[bool(content.get('causal'))]}, found {first.name}")
    if name != "finetuning":
        return Lab(name, [first], given)
    return Lab(name, [fine_tuned(first), first] if against is None else [first, _loaded(against)], given)


def _loaded(model: Any) -> Model:
    return model if isinstance(model, Model) else load(model)
