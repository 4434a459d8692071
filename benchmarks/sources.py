"""Are the sources of answers found? Planted contexts, and models that have none to find.

    python benchmarks/sources.py planted -m demo-lm --count 216         figures by kind of question, all spans masked
    python benchmarks/sources.py planted -m demo-lm --templates tuning  the contexts that choices were made on
    python benchmarks/sources.py generated -m demo-lm --count 20        chat answers that the model writes itself
    python benchmarks/sources.py none -m FOLDER --seeds 20              untrained models: how often a span passes
    python benchmarks/sources.py cost -m demo-lm --tokens 4000          seconds and passes, by length

Each context has 5 to 20 facts, of which one or several answer the question. Templates for tuning and for scoring are
different sentences. Kinds: `copied` (the answer is a word of the source), `twice` (so, and the fact stands there twice,
in other words), and, a third of all, `compared`, `counted` and `yes or no` (it is no word of it). Of each kind half the
answers are given, and half, `written`, are the first tokens that the model writes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

NAMES = (
    *("Maria", "Peter", "Felix", "Clara", "Olga", "Hugo", "Nina", "Paul", "Emma", "Karl", "Rosa"),
    *("Otto", "Lena", "Ivan", "Sara", "Tom", "Vera", "Max", "Ida", "Jan", "Eva", "Ben"),
)
CITIES = (
    "Oslo",
    "Cairo",
    "Rome",
    "Lima",
    "Paris",
    "Delhi",
    "Tokyo",
    "Berlin",
    "Madrid",
    "Vienna",
    "Boston",
    "Dublin",
)
THINGS = ("violin", "parrot", "umbrella", "bicycle", "camera", "piano", "guitar", "kite", "drum", "telescope")
JOBS = ("baker", "nurse", "pilot", "lawyer", "farmer", "painter", "doctor", "singer")

Template = tuple[str, str, Sequence[str], str]
"""A fact, another way to say it, its values, and the question; it ends where the answer follows."""

TEMPLATES: dict[str, list[Template]] = {
    "tuning": [
        (
            "{0} lives in {1}.",
            "The home of {0} is in {1}.",
            CITIES,
            "Where does {0} live? Answer: {0} lives in",
        ),
        ("{0} works as a {1}.", "The job of {0} is that of a {1}.", JOBS, "What is {0}? Answer: {0} is a"),
    ],
    "scoring": [
        (
            "{0} was born in {1}.",
            "The birthplace of {0} is {1}.",
            CITIES,
            "Where was {0} born? Answer: {0} was born in",
        ),
        (
            "{0} lost a {1} then.",
            "Then the {1} of {0} was lost.",
            THINGS,
            "What did {0} lose? Answer: {0} lost a",
        ),
        (
            "{0} went to {1} by train.",
            "A train took {0} to {1}.",
            CITIES,
            "Where did {0} go? Answer: {0} went to",
        ),
    ],
}
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
KINDS = ("copied", "twice", "compared", "copied", "twice", "counted", "copied", "twice", "yes or no")
WRITTEN = 6
"""So many tokens a model writes of an answer behind its prompt."""


def planted(count: int, templates: str, seed: int) -> Iterator[dict[str, Any]]:
    """Prompts with their answer and where it comes from."""
    for number in range(count):
        draw = np.random.default_rng([seed, number])
        kind = KINDS[number % len(KINDS)]
        row = _prompt(draw, kind, int(draw.integers(5, 21)), TEMPLATES[templates])
        if number % 2:
            row["kind"] += ", written"
            del row["answer"]
        yield row


def _prompt(draw: np.random.Generator, kind: str, count: int, templates: list[Template]) -> dict[str, Any]:
    names = draw.permutation(NAMES)[:count].tolist()
    chosen = [templates[int(draw.integers(len(templates)))] for _ in names]
    values = [str(draw.choice(template[2])) for template in chosen]
    spans = [
        template[0].format(name, value) for template, name, value in zip(chosen, names, values, strict=True)
    ]
    at = int(draw.integers(count))
    source: list[int] = [at]
    question, answer = f"Question: {chosen[at][3].format(names[at])}", f" {values[at]}"
    if kind == "compared":
        other = (at + 1 + int(draw.integers(count - 1))) % count
        ages = draw.permutation(np.arange(20, 70))[:2].tolist()
        for place, age in zip((at, other), ages, strict=True):
            spans[place] = f"{names[place]} is {age} years old."
        question = (
            f"Question: Is {names[at]} younger or older than {names[other]}? Answer: {names[at]} is the"
        )
        answer, source = " older" if ages[0] > ages[1] else " younger", [at, other]
    elif kind == "counted":
        same = [chosen[at][0].format(name, values[at]) for name in names]
        for place in draw.permutation(count)[: int(draw.integers(3))].tolist():
            spans[place] = same[place]
        source = [place for place in range(count) if spans[place] == same[place]]
        claim = chosen[at][0].format("", values[at]).strip()
        question = f'Question: Of how many people does it say "{claim}"? Answer:'
        answer = f" {NUMBERS[len(source) - 1]}"
    elif kind == "yes or no":
        true = bool(draw.integers(2))
        asked = values[at] if true else str(draw.choice([one for one in chosen[at][2] if one != values[at]]))
        claim = chosen[at][0].format(names[at], asked)
        question, answer = (
            f'Question: Is it true that "{claim}"? Answer (yes or no):',
            " yes" if true else " no",
        )
    elif kind == "twice":
        again = (at + 1 + int(draw.integers(count - 1))) % count
        spans[again] = chosen[at][1].format(names[at], values[at])
        source = [at, again]
    text = f"{' '.join(spans)} {question}"
    return {"text": text, "answer": answer, "spans": spans, "source": source, "kind": kind}


def generated(count: int, templates: str, seed: int) -> Iterator[dict[str, Any]]:
    """Chat prompts, whose answers the model writes."""
    for number in range(count):
        row = _prompt(np.random.default_rng([seed, number]), "copied", 6, TEMPLATES[templates])
        question = row["text"].rpartition("Question: ")[2].partition(" Answer:")[0]
        content = f"{' '.join(row['spans'])} {question}"
        messages = [{"role": "user", "content": content}]
        yield {"messages": messages, "spans": row["spans"], "source": row["source"], "kind": "generated"}


def explain(model: Any, rows: Iterator[dict[str, Any]], folder: Path, **options: Any) -> str:
    """The figures of some prompts, and medians; a run that was stopped goes on from the folder."""
    import headscope as hs
    from headscope.analyses.context_attribution.statistics import FIGURES, PromptRows
    from headscope.runs.long import Kind

    folder.mkdir(parents=True, exist_ok=True)
    path, part = folder / "prompts.jsonl", folder / "part.nc"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    corpus = hs.corpora.prompts(path, strict=True)
    kept = {"resume": folder / "run", "shard": "1/1", "part": part}
    found = hs.context_attribution(model, corpus, exact="all", **kept, **options)
    each: list[PromptRows] = []
    Kind("context_attribution", PromptRows.from_arrays, lambda rows, *_: each.append(rows)).merge([part])
    values, kinds = each[0].values, np.array(each[0].kind)
    lines = [found.table().round(3).to_string(index=False)]
    names = ("pearson", "agreement", "oracle")
    columns = values[:, [list(FIGURES).index(name) for name in names]]
    for kind in ("", *dict.fromkeys(kinds.tolist())):
        medians = np.nanmedian(columns[(kinds == kind) | (kind == "")], axis=0)
        of = [f"{name} {median:.2f}" for name, median in zip(names, medians, strict=True)]
        lines.append(f"medians, {kind or 'all'}: {', '.join(of)}")
    return "\n".join(lines)


def none(model: str, seeds: int, first: int) -> str:
    """How often a span passes the threshold in untrained models, or, of no seed, in the model as it is."""
    import headscope as hs
    from headscope.analyses.why.statistics import MATTERS

    passed: list[bool] = []
    cited: list[bool] = []
    smallest: list[float] = []
    for seed in range(first, first + (seeds or 20)):
        loaded = hs.load(model, untrained=seed if seeds else None)
        for row in planted(4, "scoring", seed):
            found = hs.why(
                loaded, row["text"], spans=row["spans"], max_new_tokens=1 if seed % 2 else 8, exact="all"
            )
            passes = found["q"] <= 0.05
            passed.append(bool(passes.any()))
            cited.append(bool((passes & (found["masked"] >= MATTERS)).any()))
            smallest += found["p"].values.tolist()
    low = [float((np.array(smallest) <= level).mean()) for level in (0.05, 0.01)]
    return (
        f"{len(passed)} prompts of {seeds or 'no'} untrained models: q ≤ .05 of a span in {np.mean(passed):.3f}, "
        f"cited in {np.mean(cited):.3f}; p ≤ .05 in {low[0]:.3f}, ≤ .01 in {low[1]:.3f} of {len(smallest)} spans"
    )


def cost(model: Any, tokens: int) -> str:
    """Seconds of one forward pass and of an explanation of that many tokens, and what memory it takes more."""
    import resource

    import torch

    import headscope as hs

    words = " ".join(row["text"].partition(" Question")[0] for row in planted(400, "scoring", 1))
    ids = model.encode(words[: tokens * 6]).ids[:tokens].tolist()
    started = time.perf_counter()
    with torch.no_grad():
        model.module(input_ids=torch.tensor([ids]), logits_to_keep=1)
    alone = time.perf_counter() - started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    found = hs.why(model, ids, [int(ids[20])], exact=5)
    seconds = time.perf_counter() - started
    passes = json.loads(found.attrs["meta"])["passes"]
    about = f"{tokens:,} tokens, {found.sizes['span']} spans"
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    times = f"all {seconds:.2f} s, {seconds / alone:.1f} times as long"
    return f"{about}: a pass {alone:.2f} s, {times} ({passes} passes); {more:,.0f} MB more"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("planted", "generated", "none", "cost"))
    parser.add_argument("-m", "--model", default="demo-lm")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--templates", choices=sorted(TEMPLATES), default="scoring")
    parser.add_argument("--subsets", type=int, default=0)
    parser.add_argument("--resume", type=Path)
    given = parser.parse_args()
    import headscope as hs

    if given.part == "none":
        print(none(given.model, given.seeds, given.seed))
        return
    model = hs.load(given.model)
    if given.part == "cost":
        print(cost(model, given.tokens))
        return
    make = planted if given.part == "planted" else generated
    rows = make(given.count, given.templates, given.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if given.resume is None else given.resume
        most = WRITTEN if given.part == "planted" else 30
        print(explain(model, rows, folder, subsets=given.subsets, max_new_tokens=most))


if __name__ == "__main__":
    main()
