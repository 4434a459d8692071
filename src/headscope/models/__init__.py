"""Models: found, loaded, encoded for, re-initialised. Needs torch and transformers."""

from headscope.models.load import load
from headscope.models.model import Model

__all__ = ["Model", "load"]
