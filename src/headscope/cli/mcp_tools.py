"""What agents may ask: the functions of the package, answered in a few rows and sentences."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from inspect import getdoc
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd  # pyright: ignore[reportMissingTypeStubs]
from anyio import from_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import headscope as hs
from headscope.analyses import analyses
from headscope.analyses.compare.training.callback import SEQUENCES
from headscope.analyses.result import about
from headscope.analyses.roles.definitions import ROLES
from headscope.analyses.roles.run import repeated_tokens
from headscope.analyses.shown import ShownResult, of_result
from headscope.analyses.why.statistics import MATTERS
from headscope.cli.check import described
from headscope.console import sources
from headscope.console.options import LoadOptions, TableOptions
from headscope.console.replies import figures, reply, unshown
from headscope.core.counts import plural
from headscope.core.escapes import beginning
from headscope.errors import FewError, HeadscopeError, HeadscopeWarning, InputError, RefusedError
from headscope.live.session import LONGEST, Live
from headscope.measures.confidence import SYNTHETIC
from headscope.measures.dataset import description
from headscope.runs.estimate import ahead, duration, english
from headscope.runs.long import described as run_of
from headscope.runs.options import COMMAND
from headscope.views.terminal import words

REPEATED = 20_000
"""About how many tokens roles of a causal model are told from beside its corpus, which is read four times."""

OTHERS = 19
"""In so many other heads a change is made as well: one head in 20 moves more than all of them by chance."""

_HEAD = re.compile(r"L\d+H\d+")
_ELSEWHERE = re.compile(
    r'"(audio|image|mask)"\s*:|\\u00[4-7]|[\0\ufffd]'
)  # escaped letters might spell these names
_READ: Any = {"syntax": sources.annotated, "coref": sources.coreference, "links": sources.links}


def _heads(view: Any) -> tuple[Any, Sequence[hs.Head]]:
    """The first part of a view, and its heads."""
    part = view.payload["inputs"][0]["parts"][0]
    return part, [
        hs.Head(layer, head)
        for layer, some in zip(part["index"], part["heads"], strict=True)
        for head in some
    ]


def _shown(name: str, *given: Any, **options: Any) -> ShownResult:
    """What an analysis finds, as its command shows it."""
    one = analyses()[name]
    return of_result(one.load(one.function)(*given, **options), analysis=one)


def _meta(model: Any) -> Any:
    """What made a result of one input."""
    return {"model": run_of(model, ())["model"], "command": COMMAND.get()}


class _OverrunError(BaseException):
    """A run takes more time than it may: nothing that the run itself could answer for."""


def answered(tool: Callable[..., str]) -> Callable[..., str]:
    """A tool that runs alone, and ends before a pass of the model when it is cancelled or has had its time."""

    @wraps(tool)
    def call(self: Tools, ctx: Context, **given: Any) -> str:
        with self.lock, warnings.catch_warnings(record=True) as self.caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", HeadscopeWarning)
            COMMAND.set(f"headscope mcp: {tool.__name__} {given}")
            started, shown, self.shell = time.monotonic(), 0.0, "headscope --help-all"

            def watch(*_: object) -> None:
                nonlocal shown
                from_thread.check_cancelled()
                past = time.monotonic() - started
                if past > self.seconds:
                    raise _OverrunError(f"Stopped after {past:.0f} s")
                if past > shown + 1:
                    shown = past
                    from_thread.run(ctx.report_progress, past, self.seconds, "seconds, of those allowed")

            self.watch = watch
            try:
                return tool(self, ctx, **given)
            except _OverrunError as late:
                return (
                    f"{late}; this server allows {self.seconds} s. Ask for less, or in a shell: {self.shell}"
                )
            except (FewError, RefusedError) as error:
                return reply(pd.DataFrame(), [], missing=str(error))
            except HeadscopeError as error:
                raise ToolError(beginning(str(error), 600)) from error

    return call


class Tools:
    """Eight tools over some models, of which one is warm, and one folder."""

    caught: Iterable[warnings.WarningMessage] = ()
    watch: Callable[..., None]
    rate = 0.0

    def __init__(self, names: Sequence[str], folder: Path, seconds: int, loading: LoadOptions) -> None:
        self.names, self.folder, self.seconds, self.loading = names, folder, seconds, loading
        self.lock, self.warm, self.roles = Lock(), dict[str, Any](), lru_cache(maxsize=4)(self._tested)

    def server(self) -> MCPServer:
        """The server of these tools."""
        says = (
            f"Where a transformer looks. Models: {', '.join(self.names)}; by default the first. Files are in "
            f"{self.folder}. An answer that begins with 'Not shown' supports no claim. A head is L7H9: layer and head, "
            "from 0."
        )
        made = MCPServer("headscope", version=hs.__version__, instructions=says, log_level="ERROR")
        for name in ("check", "look", "measure", "find", "why", "similar", "reads", "change"):
            tool = getattr(self, name)
            made.add_tool(tool, description=getdoc(tool), structured_output=False)
        return made

    @answered
    def check(self, ctx: Context, model: str = "") -> str:
        """What can be captured of a model: layers, heads, and the checks it passed."""
        loaded = self._model(model)
        return reply(pd.DataFrame(), [*described(loaded, english(loaded))])

    @answered
    def look(self, ctx: Context, text: str, pair: str = "", model: str = "") -> str:
        """Which heads show something on a text: the link that stands out most in each, and a page of all heads.

        Exact for that text (n 1), no claim about others; chance is even attention.

        pair: text B, of a model that reads pairs.
        """
        loaded = self._model(model, text, pair)
        view = hs.view(loaded, text, pair=pair or None, neurons=False, quantities=())
        part, heads = _heads(view)
        maps, does = view.inputs[0].parts[part["name"]], part["highlights"]
        links = zip(heads, *(does[name] for name in ("query", "key", "weight", "score")), strict=True)
        rows = [
            (
                *(
                    str(head),
                    f"{maps.query.pieces[query]} ({query})",
                    f"{maps.key.pieces[key]} ({key})",
                    weight,
                ),
                *(1 / maps.sight(part["index"].index(head.layer))[0, query].sum(), weight * score, 1),
            )
            for head, query, key, weight, score in links
            if score > 0
        ]
        frame = pd.DataFrame(rows, columns=["head", "from", "to", "weight", "chance", "stands_out", "n"])
        frame = frame.sort_values("stands_out", ascending=False)
        return self._reply("look", frame, meta=_meta(loaded), page=view.save)

    @answered
    def measure(
        self, ctx: Context, measures: list[str], texts: list[str] | None = None, file: str = "", lowest: bool = False,
        limit: int = 0, model: str = "",
    ) -> str:  # fmt: skip
        """Which heads have the highest (or lowest) figures of a measure over a corpus, with intervals and chance.

        The first of many heads is first by luck, too: its figure is a little too good.

        measures: previous, first, entropy, punctuation, current, same_word, offset-2, to_<class>, …; or induction,
            duplicate: of 8 sequences of random tokens that come twice.
        texts: each a document; else file, in the server's folder; else the built-in corpus.
        limit: read at most so many inputs.
        """
        if wrong := [name for name in measures if ":" in name]:
            raise InputError(f"measures: expected names, found {wrong[0]!r}: Python is not run here")
        loaded, corpus = self._model(model), hs.corpora.texts(texts) if texts else self._texts(file)
        if not texts and not file and {*measures} <= {*SYNTHETIC}:
            corpus = repeated_tokens(loaded, sequences=SEQUENCES)
        else:
            self._foresee(corpus, limit, f"measure {file} --measures {','.join(measures)}")
        shown = _shown("measure", loaded, corpus, measures=measures, limit=limit or None)
        return self._reply("measure", shown.rows.sort_values("value", ascending=lowest), shown, lowest=lowest)

    @answered
    def find(
        self, ctx: Context, what: str, label: str = "", file: str = "", limit: int = 0, model: str = ""
    ) -> str:
        """Which head finds what an annotation marks, beside the best rule without attention, or has a role; tested.

        what: syntax, coref or links (an annotation), or a role: previous token, induction, sink, retrieval, …
        label: one relation, type or label, such as obj.
        file: annotated, of a role texts, in the server's folder; else what is built in.
        limit: read at most so many inputs.
        """
        loaded, names = self._model(model), [role.name for role in ROLES]
        if what in names:
            self._foresee(self._texts(file), limit, f"roles {file}", 4, REPEATED * loaded.causal)
            table = self.roles(*self.warm, file, limit)
            attrs, rows = table.attrs, table[table["role"] == what].sort_values("q")
            none = attrs["not_found"].get(what) or attrs["untested"].get(what)
            return self._reply("roles", rows, none=none, meta=attrs["meta"], note=attrs["roles"][what])
        if what not in _READ:
            raise InputError(f"what: expected one of {', '.join([*_READ, *names])}, found {what!r}")
        paths, form = [self._inside(file)] if file else None, {}
        if what == "links" and paths:
            form = {"format": "jsonl" if paths[0].suffix == ".jsonl" else "conllu"}
            if _ELSEWHERE.search(paths[0].read_text("utf-8", "replace")):
                raise InputError(f"{file}: expected links in texts, found files that may lie elsewhere")
        corpus: Any = _READ[what](paths, **form)
        corpus = corpus(loaded) if callable(corpus) else corpus
        self._foresee(corpus, limit, f"{what} {file}")
        shown = _shown(what, loaded, corpus, limit=limit or None)
        kinds = shown.rows["type" if what == "coref" else shown.rows.columns[0]]
        if label and label not in {*kinds}:
            raise InputError(f"label: expected one of {', '.join(sorted({*kinds}))}, found {label!r}")
        return self._reply(
            what, shown.rows[(kinds == label) | (not label)].sort_values("p", kind="stable"), shown
        )

    @answered
    def why(
        self, ctx: Context, prompt: str, answer: str = "", against: str = "", spans: str = "sentence", model: str = ""
    ) -> str:  # fmt: skip
        """Which part of a prompt made the answer: what its log-probability loses without each span, in nats.

        answer: what follows (mind the space); else what the model says.
        against: why the answer rather than this one?
        spans: sentence, line, paragraph, word or token.
        """
        shown = _shown(
            "why", self._model(model, prompt, answer), prompt, answer or None, spans, against=against or None
        )
        return self._reply("why", shown.rows, shown, page=shown.save, least=MATTERS)

    @answered
    def similar(self, ctx: Context, a: str, b: str, units: str = "word", model: str = "") -> str:
        """Why two texts, read apart, are near: how near beside unrelated texts, and by which words (or sentences)."""
        shown = _shown("similar", self._model(model, a, b), a, b, units, chance=True)
        cosine, percentile = (shown.dataset[name].item() for name in ("similarity", "percentile"))
        others = description(shown.dataset)["background"]
        p = (1 + others * (1 - percentile)) / (1 + others)
        near = pd.DataFrame([{"side": "a, b", "text": "both", "effect": cosine, "p": p, "n": others}])
        return self._reply("similar", pd.concat([near, shown.rows]), shown, page=shown.save)

    @answered
    def reads(
        self,
        ctx: Context,
        text: str,
        head: str,
        query: int | None = None,
        key: int | None = None,
        model: str = "",
    ) -> str:
        """Why a head (L5H1) looks there: an exact sum over who wrote what its query and key read.

        query: place of the token that looks; else the last.
        key: place of what it looks at; else the largest weight.
        """
        loaded = self._model(model, text)
        shown = _shown("reads", loaded, text, head, query=query, key=key)
        shown = replace(shown, blocks=shown.blocks[:1])
        seen = description(shown.dataset)["query"] + 1 if loaded.causal else len(loaded.encode(text))
        claim = {"head": head, "weight": shown.dataset["weight"].item(), "chance": 1 / seen, "n": 1}
        return self._reply(
            "reads", shown.rows.sort_values("term", key=np.abs, ascending=False), shown, claim=claim
        )

    @answered
    def change(self, ctx: Context, text: str, changes: list[str], model: str = "") -> str:
        """What if: what a model predicts before and after changes of attention.

        The effect is what the likeliest loses, in nats; chance the most that the same does in 19 others (or ln 2).

        changes: L4H2 off, L4 uniform, L4H2 mean, L4H2 previous, L4H2 hide 3>5, all hide >0, L4H2 temperature .5
        """
        live = Live(loaded := self._model(model, text))
        rows, view = self._says(live, text, changes), live.view
        named = {*_HEAD.findall(" ".join(changes))}
        heads = [head for head in _heads(view)[1] if str(head) not in named] if named else []
        others = [
            abs(self._says(live, text, [_HEAD.sub(str(head), one) for one in changes])["effect"].iloc[0])
            for head in heads[:: 1 + len(heads) // OTHERS]
        ]
        first, then = rows.iloc[0], rows.loc[rows["after"].idxmax()]
        claim = {**first, "moved": abs(first["effect"]), "chance": max(others, default=MATTERS), "n": 1}
        note = (
            f"{first['text']!r}: p {first['before']:.3f}, then {first['after']:.3f}; likeliest then: {then['text']!r}, "
            f"p {then['after']:.3f}"
        )
        how: Any = {"page": view and view.save, "meta": _meta(loaded), "note": note}
        return self._reply("change", rows, claim=claim, **how)

    def _says(self, live: Live, text: str, changes: Sequence[str]) -> Any:
        """The likeliest candidates before and after changes."""
        asked = {"kind": "show", "id": 0, "input": {"text": text}, "changes": [*changes]}
        answer: Any = live.answer(asked)[0]
        if wrong := answer.get("error") or "; ".join(answer["left"].values()):
            raise InputError(wrong)
        if len(answer["says"]) < 2 or not answer["says"][0]["top"]:
            raise RefusedError(f"{live.models[0].name} predicts nothing that these changes could move")
        table: Any = pd.DataFrame
        before, after = (table(one["top"]).set_index("id") for one in answer["says"])
        rows = before.rename(columns={"p": "before"}).assign(after=after["p"].clip(lower=1e-12))
        return rows.assign(effect=np.log(rows["before"] / rows["after"]))

    def _tested(self, name: str, file: str, limit: int) -> Any:
        return hs.roles(self.warm[name], self._texts(file), limit=limit or None)

    def _model(self, name: str, *texts: str) -> Any:
        """A model of the server's, which takes these texts."""
        name = name or self.names[0]
        if name not in self.names:
            raise InputError(f"model: expected one of {', '.join(self.names)}, found {name!r}")
        if name not in self.warm:
            self.warm.clear()
            model = self.loading.named(name)
            text = hs.corpora.builtin(pack=min(128, model.max_length or 128))
            tokens: Any = next(iter(text.encoded(model))).tokens
            started = time.monotonic()
            hs.capture(model, tokens)
            self.rate = (time.monotonic() - started) / len(tokens)
            model.module.register_forward_pre_hook(self._before)
            self.warm[name] = model
        for text in filter(None, texts):
            if (size := len(self.warm[name].encode(text))) > LONGEST:
                raise InputError(f"text: expected at most {LONGEST:,} tokens, found {size:,}")
        return self.warm[name]

    def _before(self, *_: object) -> None:
        self.watch()

    def _inside(self, name: str) -> Path:
        """A file of the folder."""
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            raise InputError(f"file: expected a file in {self.folder}, found {name!r}")
        return path

    def _texts(self, file: str) -> Any:
        return sources.ReadingOptions().of([self._inside(file)] if file else None)

    def _foresee(self, corpus: Any, limit: int, typed: str, times: int = 1, more: int = 0) -> None:
        """End here, with an estimate, what takes longer than the server allows."""
        ((name, model),) = self.warm.items()
        self.shell = " ".join(f"headscope {typed} -m {name}".split())
        extent = ahead(corpus, corpus.encoded(model), limit or None)
        seconds = (times * extent.tokens + more) * self.rate
        if seconds > self.seconds:
            raise _OverrunError(
                f"Not run: {extent.text('input')}, about {duration(seconds)} on {model.device}"
            )

    def _reply(
        self, name: str, rows: Any, shown: ShownResult | None = None, *, meta: Any = None, note: str = "",
        page: Any = None, claim: Any = None, none: str | None = None, **how: Any,
    ) -> str:  # fmt: skip
        """The answer of a result, whose rows, description and page go to the folder."""
        number = next(n for n in count(1) if not [*self.folder.glob(f"{name}-{n}.*")])
        files = [self.folder / f"{name}-{number}{suffix}" for suffix in (".csv", ".json", ".html")]
        data: Any = shown and shown.dataset
        rows = rows.reset_index(drop=True)
        meta = rows.attrs["meta"] = meta or description(data)
        TableOptions(files[0], meta=files[1]).out(ShownResult(rows, dataset=data))
        if page is None or not page(files[2]):
            files.pop()
        claims = rows if claim is None else pd.DataFrame([claim])
        missing = none or unshown(claims, **how)
        says = [
            *([] if missing else [figures(claims.iloc[0])]),
            *([note] if note else []),
            *(words(block["parts"]) for block in (shown.blocks if shown else ()) if block["kind"] == "text"),
            *(str(one.message) for one in self.caught),
        ]
        says = [line for line in says if not line.startswith("…")]  # what a terminal leaves out
        documents = meta.get("corpus", {}).get("documents")
        run = [
            *about(meta),
            plural(documents, "document") if documents else "",
            f"headscope {hs.__version__}",
        ]
        return reply(
            rows, says, missing=missing, run=" · ".join(filter(None, run)), files=", ".join(map(str, files))
        )
