"""How a corpus goes through a model: inputs in blocks, blocks in batches, and errors named by the input."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from headscope.attention.vision import eyes
from headscope.core.failures import out_of_memory
from headscope.core.tokens import Tokens
from headscope.corpora import Block, Corpus, Example, blocks
from headscope.errors import HeadscopeError, InputError, RunError
from headscope.models import Model
from headscope.models.model import IdsError
from headscope.models.perceive import reads, tower
from headscope.models.weights import LARGE, size_of
from headscope.runs.checkpoint import SentBlock
from headscope.runs.engines import engine_of
from headscope.runs.engines.here import Engine
from headscope.runs.estimate import Inputs
from headscope.runs.options import RunOptions
from headscope.runs.progress import CorpusPlace, Progress, bar

TOKENS_PER_INPUT = 128
"""A batch has at most `batch_size` times this many tokens, padding included: longer inputs come in fewer."""

TOKENS_PER_INPUT_LARGE = 32
"""The same for a model whose weights are more than `LARGE`, beside which what a layer makes of a batch is held."""

TOKENS_PER_INPUT_LARGE_CPU = 8
"""The same on a processor, where so few are no slower."""

BLOCK = 256
"""Inputs of a numbered block, at least, where a run does not say otherwise."""

PERCEIVED = 32
"""The most of a block's inputs where these are pictures or sounds, whose pixels and samples are held meanwhile."""

T = TypeVar("T")
Worked = Iterator[tuple[Sequence[Example], T]]
"""Batches, and what a function gives for each."""


def examples(model: Model, corpus: Corpus | Iterable[Example], limit: int | None = None) -> Inputs:
    """The inputs of a model, with their tokens; their unknown pieces are counted."""
    if isinstance(corpus, Inputs):
        return corpus
    if not isinstance(corpus, Corpus):
        return Inputs(model, islice(iter(corpus), limit), corpus_name(corpus))
    return checked_first(model, corpus, lambda: islice(corpus.encoded(model), limit))


def checked_first(
    model: Model, corpus: Corpus | Iterable[Example], read: Callable[[], Iterator[Example]]
) -> Inputs:
    """What is read of a corpus; of a strict one once to the end before, so that it is refused before the model runs."""
    if isinstance(corpus, Corpus) and corpus.strict:
        for _ in Inputs(model, read(), corpus.name):
            pass
    return Inputs(model, read(), corpus_name(corpus))


def reader_of(model: Model, corpus: Corpus | Iterable[Example]) -> Model:
    """What reads a corpus: of pictures without texts the part of a model of both that looks at pictures.

    So do pictures with texts where the model reads the two apart (CLIP).
    """
    if not isinstance(corpus, Corpus) or model.image_processor is None or tower(model.module) is None:
        return model
    first = next(corpus.examples(), None)
    alone = first is not None and first.image is not None and (first.text is None or reads(model) == "images")
    return eyes(model) if alone else model


def inputs_of_block(model: Model, corpus: object, size: int | None = None) -> int:
    """How many inputs a block has, at least, and a window in which they are sorted."""
    size = size or BLOCK
    if not isinstance(corpus, Corpus) or (model.image_processor is None and model.feature_extractor is None):
        return size
    first = next(corpus.examples(), None)
    perceived = first is not None and (first.image is not None or first.audio is not None)
    return min(size, PERCEIVED) if perceived else size


def no_input(corpus: object) -> InputError:
    """The error of a run that has read all of a corpus and found no input."""
    if isinstance(corpus, Corpus):
        return corpus.nothing_left()
    return InputError("corpus: expected at least one input, found none")


def corpus_name(corpus: Corpus | Iterable[Example]) -> str:
    """What to call a corpus."""
    return corpus.name if isinstance(corpus, Corpus) else "examples"


def tokens_of(example: Example) -> Tokens:
    """The tokens of an example. Raises `CorpusError` where it has none."""
    if example.tokens is None:
        raise example.error("expected an example with tokens: give corpus.encoded(model)")
    return example.tokens


def tokens_per_batch(batch_size: int, *models: Model) -> int:
    """How many tokens a batch of these models has at most, padding included."""
    large = [model for model in models if size_of(model.module) > LARGE]
    if not large:
        return batch_size * TOKENS_PER_INPUT
    on_cpu = all(model.device.type == "cpu" for model in large)
    return batch_size * (TOKENS_PER_INPUT_LARGE_CPU if on_cpu else TOKENS_PER_INPUT_LARGE)


def cut(
    inputs: Iterable[Example],
    batch_size: int,
    *models: Model,
    size: int | None = None,
    windows: int | None = None,
) -> Iterator[Block]:
    """The numbered blocks of some inputs of these models, as `headscope.corpora.blocks` cuts them."""
    return blocks(
        inputs,
        size=size or BLOCK,
        windows=windows,
        batch_size=batch_size,
        tokens_per_batch=tokens_per_batch(batch_size, *models),
        same_length=min((model.same_length for model in models if model.same_length), default=0),
    )


def over_blocks(
    model: Model,
    corpus: Corpus | Iterable[Example],
    work: Callable[[Sequence[Example]], T],
    options: RunOptions,
    *,
    inputs: Iterable[Example],
    others: Sequence[Model] = (),
    title: str = "measuring",
) -> Iterator[Worked[T]]:
    """What a function gives for each batch of a corpus, block by block, with a bar on stderr.

    Args:
        model, corpus: what runs, and over what.
        work: what one batch gives. Where there is an engine it is sent there: what it notes in itself is lost.
        options: how it goes through the corpus; resume, shard, part and skip_failures do not count.
        inputs: of the corpus, with their tokens.
        others: models that read the same batches.
        title: of the bar.

    Raises:
        InputError: a corpus without inputs.
        RunError: the model failed on an input, which the message names.
    """
    block = None
    shows = bar(corpus, options.limit, options.progress, title)
    with engine_of(options.engine) as workers, shows as shown:
        blocks = cut(inputs, options.batch_size, model, *others, size=inputs_of_block(model, corpus))
        if workers.remote:
            results = _elsewhere(blocks, work, workers, [model, *others], shown)
        else:
            results = (worked(block, work, shown) for block in blocks)
        for block in results:
            yield block
    if block is None:
        raise no_input(corpus)


def _elsewhere(
    blocks: Iterator[Block],
    work: Callable[[Sequence[Example]], T],
    workers: Engine,
    models: Sequence[Model],
    shown: Progress,
) -> Iterator[Worked[T]]:
    """Run the function in other processes; the batches are kept here until their results are back."""
    read: deque[tuple[list[list[Example]], CorpusPlace]] = deque()

    def units() -> Iterator[list[SentBlock]]:
        count = 0
        for block in blocks:
            batches = list(block)
            count += sum(map(len, batches))
            read.append((batches, shown.place(count)))
            yield [SentBlock(block.number, batches)]

    for results in workers.results(models, Batches(work), units(), shown):
        batches, place = read.popleft()
        yield zip(batches, results, strict=True)
        shown.at(place)


@dataclass(frozen=True)
class Batches(Generic[T]):
    """What a function gives for each batch of a unit."""

    work: Callable[[Sequence[Example]], T]

    def __call__(self, unit: Sequence[SentBlock], done: Callable[[int], None]) -> list[T]:
        """The results, in the order of the batches."""
        return [result for given in unit for _, result in worked(given, self.work, done)]


def worked(
    batches: Iterable[Sequence[Example]],
    work: Callable[[Sequence[Example]], T],
    done: Callable[[int], None] | None = None,
) -> Worked[T]:
    """What a function gives for each batch. `done` is told how many inputs are behind.

    Raises `RunError` where the function fails, with the input that causes it.
    """
    for batch in batches:
        try:
            result = work(batch)
        except IdsError as error:
            raise named(error, batch, work) from error
        except HeadscopeError:
            raise
        except Exception as error:
            raise named(error, batch, work) from error
        yield batch, result
        if done is not None:
            done(len(batch))


def named(
    error: Exception, batch: Sequence[Example], work: Callable[[Sequence[Example]], object]
) -> RunError:
    """The error of a batch as that of the input that causes it, which running the inputs one by one tells."""
    culprit = batch[0]
    for example in batch if len(batch) > 1 else ():
        try:
            work([example])
        except Exception as cause:
            culprit, error = example, cause
            break
    lines = str(error).strip().splitlines()
    where = culprit.source or f"document {culprit.document}"
    if isinstance(error, IdsError):
        return RunError(f"{where}: {error}")
    if (full := out_of_memory(error)) is not None:
        return RunError(f"{where}: {full}")
    return RunError(
        f"{where}: the model failed ({type(error).__name__}: {lines[0] if lines else 'no message'})"
    )
