"""What a browser remembers of the reader's wish for all controls."""

ALL = "try { localStorage.setItem('headscope.controls', 'all') } catch {}"
"""Run before a page's own script: the page begins with all controls, not with those of a first look."""
