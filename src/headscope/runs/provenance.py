"""What was typed: every run over a corpus keeps it in its description."""

from __future__ import annotations

from contextvars import ContextVar

COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")
"""The command line that makes the results; empty in Python."""
