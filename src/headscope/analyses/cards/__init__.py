"""Head by head, with examples."""
