"""Sections of a report as data: tables, texts and what is folded, each drawn by a file of ``report/blocks``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

import pandas as pd  # pyright: ignore[reportMissingTypeStubs]

from headscope.measures.columns import Format, column, plain
from headscope.views.charts import Chart
from headscope.views.payload import Part, Pin, Reason, SectionInfo
from headscope.views.section import rounded
from headscope.views.sentences import text as words

Value = str | int | float | bool | None

FEW = 15
"""So many rows of a table of every head are shown where there is little room."""


class ColumnInfo(TypedDict):
    """A column of a table by the name that it is saved under, and what it says (`headscope.measures.columns`).

    `label` is there where it is other than the name, `format` where it is no ``figure``, `digits` where they are not 3.
    """

    name: str
    label: NotRequired[str]
    format: NotRequired[Format]
    digits: NotRequired[int]
    help: NotRequired[str]


class CellInfo(TypedDict):
    """What stands in a column of the page: the figures of the column `of`, and what others say beside them.

    `draw` draws them in place of writing them: a ``bar`` from 0 to 1 with its interval, the baseline `base` and
    `chance` (in other units up to the most that there can be), a ``change`` to both sides of 0, or a ``range`` in
    figures; a ``tint`` by its scale and with all that is known where `of` is a measure of the page; ``heads`` are those
    of the table's `heads`, and a ``measure`` asks its section to show the one that `name` says.
    Below a figure stand its interval (with `digits`, as the figures of other rows) and what the column `under` says,
    behind it what `aside` says and, when it is pointed at, `title`. `label` stands above where it is other than the
    column's. The column `name` names what is no head, or counts what stands behind a plus. `error` stands where there
    is no interval; `most` fills half of a change, by default the largest.
    """

    of: str
    label: NotRequired[str]
    draw: NotRequired[Literal["bar", "change", "range", "heads", "measure", "tint"]]
    low: NotRequired[str]
    high: NotRequired[str]
    base: NotRequired[str]
    chance: NotRequired[str]
    under: NotRequired[str]
    aside: NotRequired[str]
    title: NotRequired[str]
    name: NotRequired[str]
    error: NotRequired[str]
    most: NotRequired[float]
    digits: NotRequired[int]
    tone: NotRequired[Literal["strong", "dim"]]


class LookInfo(TypedDict):
    """Where heads are seen that have no figures: on an example, in a part of the model."""

    example: int
    part: str


class LinkSentence(TypedDict):
    """An input by its words or tokens, and its place among the examples.

    `spans` are units of several words, [first, last] each; their numbers go on after those of the words. `second` is
    where text B begins.
    """

    words: list[str]
    spans: list[list[int]]
    second: int | None
    example: int | None


class LinkShown(TypedDict):
    """What a head does in an input.

    `words` are the sources, by the numbers of words and spans, `targets` what would be right for each, `predicted` the
    head's choices (-1: none), `right` whether they are targets. `arcs` are [word, word, weight]: attention from the
    first to the second. `pins` are the tokens at which the sources begin, on the side where the head is read.
    """

    sentence: int
    words: list[int]
    pins: list[Pin]
    targets: list[list[int]]
    predicted: list[int]
    right: list[bool]
    arcs: list[list[float]]


class MentionText(TypedDict):
    """A text with mentions, [first word, word after its last, head word] each; its place among the examples.

    `spaces` tells whether white space follows each word, where the corpus does.
    """

    words: list[str]
    mentions: list[list[int]]
    example: int | None
    spaces: list[bool] | None


class MentionShown(TypedDict):
    """A mention, the word that a head chooses for it, and the mentions that would be right, by their places.

    `pin` is the token at which the mention's head word begins.
    """

    window: int
    mention: int
    predicted: int
    weight: float
    antecedents: list[int]
    right: bool
    pin: Pin


class CasesOf(TypedDict):
    """Where the head of a row is right and where it is wrong.

    `title` and `about` stand above. `missing` says that there are none of one kind, `none` that there are none at all
    (empty: that of each kind). `towards`: a source is the query.
    """

    title: str
    about: str
    missing: str
    none: str
    towards: bool
    links: list[LinkShown]
    mentions: list[MentionShown]


class CasesInfo(TypedDict):
    """Real inputs, of the row that is chosen: `sentences` with arcs, of `link`, or `texts` with mentions.

    `rows` has those of each row (None: none), `first` is the row whose are shown at first.
    """

    link: str
    sentences: list[LinkSentence]
    texts: list[MentionText]
    rows: list[CasesOf | None]
    first: int | None


class TableBlock(TypedDict):
    """A table: columns as they are saved, with their values, and `cells` that show them.

    Without `cells` it is saved alone, without `columns` shown alone. With columns ``layer`` and ``head`` a row stands
    for a head, which `reasons` opens, or `look`. Values of columns that are not in `columns` are shown and not saved.
    Rows of which the column `faint` is true are grey. `others` are rows that stand below, which are neither saved nor
    open anything; `off` says why they are grey. `shown` are the places of rows that are shown, where others are saved
    alone; the column `units` has the units of a row's figures. `heads` are names in a row, by column.
    """

    kind: Literal["table"]
    name: str
    title: str
    columns: list[ColumnInfo]
    more: list[ColumnInfo]
    values: dict[str, list[Value]]
    cells: list[CellInfo]
    reasons: list[Reason | None]
    look: NotRequired[LookInfo]
    faint: NotRequired[str]
    shown: NotRequired[list[int]]
    units: NotRequired[str]
    others: NotRequired[dict[str, list[Value]]]
    off: NotRequired[str]
    heads: NotRequired[dict[str, list[list[Part]]]]
    cases: NotRequired[CasesInfo]


Tone = Literal["plain", "headline", "heads", "note", "part", "why"]


class TextBlock(TypedDict):
    """A paragraph: a plain one, a `headline`, names of `heads`, a small `note`, the title of a `part`, or `why` figures
    are no ground for conclusions."""

    kind: Literal["text"]
    tone: Tone
    parts: list[Part]


class ListEntry(TypedDict):
    """What is said of a name; the parts are set off by commas."""

    name: str
    parts: list[Part]


class BarInfo(TypedDict):
    """A bar that can be moved from `least` to `most`: parts above it stay; `none` is said where none does."""

    label: str
    least: float
    most: float
    step: float
    value: float
    none: str


class ListBlock(TypedDict):
    """Names, and what is said of each."""

    kind: Literal["list"]
    entries: list[ListEntry]
    bar: NotRequired[BarInfo]


class GraphEdge(TypedDict):
    """What a head (`reader`, its place among the heads) reads of another (`writer`), as keys, queries or values."""

    writer: int
    reader: int
    kind: Literal["K", "Q", "V"]
    share: float
    reason: Reason


class GraphBlock(TypedDict):
    """Heads that feed each other; the `title` of a head is its role."""

    kind: Literal["graph"]
    title: str
    heads: list[Part]
    edges: list[GraphEdge]


class ChartBlock(TypedDict):
    """Charts beside one another, `height` pixels high each or as high as they are by their width.

    `reasons` open the heads of their rows (None: that of the measure that the page shows), and `tips` say more of these
    when they are pointed at. `measures` of the page are those of each chart, a colour each: its rows open their heads
    for these figures.
    """

    kind: Literal["chart"]
    charts: list[Chart]
    height: int | None
    reasons: list[Reason | None]
    tips: list[str]
    measures: NotRequired[list[list[str]]]


class SeenHead(TypedDict):
    """Where a head is seen: an example, and a token of it."""

    example: int
    pin: Pin | None


class MeasuresBlock(TypedDict):
    """Measures of all heads as maps, each small and one of them large.

    Those of the page; or of two models, where the section has tables of ``heads``, their ``layers`` and measures that
    ``changed``: then heads are `seen`, by their names, where the maps of both are.
    """

    kind: Literal["measures"]
    seen: NotRequired[dict[str, SeenHead]]


class HeadsBlock(TypedDict):
    """A table of every measure of the page: every head a row."""

    kind: Literal["heads"]


class CardExample(TypedDict):
    """An example by its place among those of the page, with a head's score on it.

    `rank` counts from the strongest of all inputs (None: not among the first); `decile` is from 1 to 10, the strongest.
    """

    example: int
    score: float
    rank: int | None
    decile: int
    reason: Reason


class CardInfo(TypedDict):
    """One head: its roles, and real examples by the named measure: the strongest, and one of each decile."""

    layer: int
    head: int
    roles: list[str]
    measure: str
    units: str
    least: bool
    strongest: list[CardExample]
    sample: list[CardExample]


class CardsBlock(TypedDict):
    """A card a head; `inputs` is how many inputs the examples are chosen from. `alone`: only that of the open head."""

    kind: Literal["cards"]
    cards: list[CardInfo]
    inputs: int
    alone: bool


class FoldedBlock(TypedDict):
    """What is unfolded by a click."""

    kind: Literal["folded"]
    summary: str
    blocks: list[Block]


class ColumnsBlock(TypedDict):
    """Columns beside one another where they have room, of which the first is the narrower one."""

    kind: Literal["beside"]
    columns: list[list[Block]]


class PicturedItem(TypedDict):
    """Blocks with a small picture beside them, where there is one."""

    picture: list[Block]
    blocks: list[Block]


class ItemsBlock(TypedDict):
    """Findings, one below another."""

    kind: Literal["items"]
    items: list[PicturedItem]


class GlancesBlock(TypedDict):
    """What heads look at where they were named, in small pictures."""

    kind: Literal["glances"]
    heads: list[Part]


class CaseBlock(TypedDict):
    """One case of a head that is named."""

    kind: Literal["case"]
    head: Part
    cases: CasesInfo


Block = (
    TableBlock
    | TextBlock
    | ListBlock
    | GraphBlock
    | ChartBlock
    | MeasuresBlock
    | HeadsBlock
    | CardsBlock
    | FoldedBlock
    | ColumnsBlock
    | ItemsBlock
    | GlancesBlock
    | CaseBlock
)


class BlocksSection(SectionInfo):
    """A section that is data; `name` says what it is about."""

    kind: Literal["blocks"]
    name: str
    blocks: list[Block]
    notes: list[str]
    command: str | None


def section(
    name: str,
    title: str,
    about: str,
    shown: Sequence[Block],
    notes: Sequence[str] = (),
    command: str | None = None,
) -> BlocksSection:
    """A section of blocks: what it is about, and the notes below it."""
    return BlocksSection(
        kind="blocks",
        name=name,
        title=title,
        about=about,
        blocks=list(shown),
        notes=list(notes),
        command=command,
    )


def paragraph(*parts: str | Part, tone: Tone = "plain") -> TextBlock:
    """A paragraph."""
    return TextBlock(
        kind="text", tone=tone, parts=[words(part) if isinstance(part, str) else part for part in parts]
    )


def definitions(entries: Mapping[str, str]) -> ListBlock:
    """Names, and a text on each."""
    return ListBlock(
        kind="list", entries=[ListEntry(name=name, parts=[words(text)]) for name, text in entries.items()]
    )


def charts(
    shown: Sequence[Chart],
    height: int | None = None,
    reasons: Sequence[Reason | None] = (),
    tips: Sequence[str] = (),
    measures: Sequence[list[str]] = (),
) -> ChartBlock:
    """Charts beside one another."""
    block = ChartBlock(
        kind="chart",
        charts=list(shown),
        height=height,
        reasons=list(reasons),
        tips=list(tips),
    )
    if measures:
        block["measures"] = list(measures)
    return block


def folded(summary: str, *blocks: Block) -> FoldedBlock:
    """What is unfolded by a click."""
    return FoldedBlock(kind="folded", summary=summary, blocks=list(blocks))


def rows_of(rows: pd.DataFrame, *, of: str = "", dropped: Sequence[str] = (), most: int = FEW) -> list[Block]:
    """The first rows of a table as it is saved, an interval behind its figure; columns in `dropped` are left out."""
    every: list[str] = [*map(str, rows.columns)]
    names = [name for name in every if name not in ("layer", *dropped)]
    cells = {name: CellInfo(of=name) for name in names}
    for place, low in enumerate(names):
        stem, high = low.removesuffix("_low"), f"{low.removesuffix('_low')}_high"
        if low != stem and high in cells:
            cells[stem if stem in cells else names[place - 1]].update(low=low, high=high)
            del cells[low], cells[high]
    first = table("rows", rows.head(most), every, [*cells.values()], title="", of=of)
    more = len(rows) - most
    return [first, paragraph(f"… and {more:,} more; -o FILE writes them all")] if more > 0 else [first]


def matrix(values: Any) -> TextBlock:
    """An array of two axes as a paragraph, a line a row."""
    return paragraph(values.to_pandas().round(3).to_string(na_rep=""))


def bar(of: str, low: str, high: str, base: str = "") -> CellInfo:
    """A bar from 0 to 1 with its interval, and a baseline."""
    cell = CellInfo(of=of, label="0 – 1", draw="bar", low=low, high=high)
    if base:
        cell["base"] = base
    return cell


def figure(of: str, low: str, high: str) -> CellInfo:
    """A figure that the table is about, with its interval."""
    return CellInfo(of=of, low=low, high=high, tone="strong")


def table(
    name: str,
    rows: pd.DataFrame,
    columns: Sequence[str],
    cells: Sequence[CellInfo | str],
    *,
    title: str,
    of: str = "",
    reasons: Sequence[Reason | None] = (),
    look: LookInfo | None = None,
    faint: str = "",
    shown: Sequence[int] | None = None,
    units: str = "",
    cases: CasesInfo | None = None,
    others: Mapping[str, Sequence[Any]] | None = None,
    off: str | None = None,
    heads: Mapping[str, list[list[Part]]] | None = None,
) -> TableBlock:
    """A table of a section.

    Args:
        name: what it is saved as, and called in the page's address.
        rows: with `columns`, and others that are shown alone.
        columns: those that are saved; ``paper`` follows from the head.
        cells: what stands in the columns of the page; a name alone is a figure.
        title: what it is called for readers who hear the page.
        of: the analysis that says what the columns mean.
        reasons: of each row, why its head is named.
        look: where heads are seen that have no figures.
        faint: a column of rows that are grey.
        shown: the places of rows that are shown; None: all.
        units: the column of the rows' units.
        cases: of the row that is chosen.
        others: values of rows below, by column.
        off: why those are grey, in a few words or none.
        heads: names of heads in each row, by column.
    """
    infos = [CellInfo(of=cell) if isinstance(cell, str) else cell for cell in cells]
    naming = ("of", "low", "high", "base", "chance", "under", "aside", "title", "name", "error")
    named = [str(value) for cell in infos for key, value in cell.items() if key in naming]
    places = ("layer", "head") if reasons or look is not None else ()
    more = [header for header in dict.fromkeys([*places, *named, units]) if header and header not in columns]
    more += [faint] if faint and faint not in (*columns, *more) else []
    there = [header for header in (*columns, *more) if header in rows.columns and header != "paper"]
    values = {header: _values(rows[header], of, exact=header in columns) for header in there}
    info = TableBlock(
        kind="table",
        name=name,
        title=title,
        columns=[_column(rows, header, of) for header in columns],
        more=[_column(rows, header, of) for header in more],
        values=values,
        cells=infos,
        reasons=list(reasons),
    )
    if look is not None:
        info["look"] = look
    if faint:
        info["faint"] = faint
    if shown is not None:
        info["shown"] = list(shown)
    if units:
        info["units"] = units
    if heads is not None:
        info["heads"] = dict(heads)
    if cases is not None:
        info["cases"] = cases
    if others is not None:
        info["others"] = {
            header: [plain(value, "text" if isinstance(value, str) else "figure") for value in entries]
            for header, entries in others.items()
        }
        if off is not None:
            info["off"] = off
    return info


def _values(values: Any, of: str, *, exact: bool) -> list[Value]:
    """The values of a column: as they are, or figures to six digits."""

    def one(value: Value) -> Value:
        if isinstance(value, str):
            return value
        return value if exact or not isinstance(value, float) else rounded(value)

    format = column(values.name, of, values.dtype.kind).format
    return [one(plain(value, format)) for value in values]


def _column(rows: Any, name: str, of: str) -> ColumnInfo:
    kind = rows[name].dtype.kind if name in rows.columns else "O"
    label, format, digits, meaning = column(name, of, kind)
    info = ColumnInfo(name=name)
    if label != name.replace("_", " "):
        info["label"] = label
    if format != "figure":
        info["format"] = format
    if digits != 3:
        info["digits"] = digits
    if meaning:
        info["help"] = meaning
    return info
