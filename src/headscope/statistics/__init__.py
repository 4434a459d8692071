"""Errors, intervals and tests of figures, whatever they are of. Needs no torch."""
