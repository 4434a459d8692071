"""How a corpus goes through a model."""
