"""The exceptions of headscope.

Every one prints as one line that names the place, what was found and what was expected::

    HeadscopeError
    ├── InputError          bad input: a text, a file, an argument        (exit code 2)
    │   ├── CorpusError     … in a corpus, with file and line
    │   ├── UnknownError    … of pieces that the tokenizer does not know
    │   ├── FewError        … of too few documents for any test
    │   ├── MissingError    … that needs a library of an extra
    │   └── ShapeError      … in an array, with the axis
    ├── ModelError          a model that cannot be found, loaded or read  (exit code 2)
    │   └── RefusedError    … whose attention cannot be captured or verified
    └── RunError            a run that failed half way                    (exit code 1)

    HeadscopeWarning        something a reader of the result should know
"""

from __future__ import annotations

from headscope.core.escapes import printable


class HeadscopeError(Exception):
    """Base of all errors that headscope raises on purpose.

    Attributes:
        kind, exit: what the command line calls it, and its exit code.
    """

    kind, exit = "run", 1


class InputError(HeadscopeError, ValueError):
    """An input is not what was expected."""

    kind, exit = "bad_input", 2


class CorpusError(InputError):
    """A corpus file is broken: the message begins with ``file:line:``."""

    def __init__(self, path: object, line: int | None, message: str) -> None:
        self.path, self.line, self.message = str(path), line, message
        place = printable(self.path, "")
        super().__init__(f"{place}:{line}: {message}" if line is not None else f"{place}: {message}")


class ShapeError(InputError):
    """An array has the wrong shape, values or type: the message names the axis."""


class UnknownError(InputError):
    """Too many pieces of a text or a corpus are unknown to the model's tokenizer.

    Attributes:
        reason: how many.
    """

    def __init__(self, reason: str, advice: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: {advice}")


class FewError(InputError):
    """A corpus has too few documents for a test.

    Attributes:
        reason: how many, and how many are needed.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class MissingError(InputError):
    """A library that one of headscope's extras brings is not installed."""


class ModelError(HeadscopeError):
    """A model could not be found, loaded or read."""

    kind, exit = "model", 2


class RefusedError(ModelError):
    """A model whose attention cannot be captured, or does not pass the checks."""


class RunError(HeadscopeError):
    """A run failed half way."""


class HeadscopeWarning(UserWarning):
    """Something a reader of the result should know."""
