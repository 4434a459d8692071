"""Where heads look, over a corpus."""
