"""Which heads do the same."""
