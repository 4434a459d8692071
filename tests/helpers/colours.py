"""The colours of pictures on light and dark ground."""

import json
from importlib.resources import files
from types import SimpleNamespace

_GIVEN = json.loads((files("headscope.views") / "colours.json").read_text(encoding="utf-8"))
LIGHT, DARK = (SimpleNamespace(**_GIVEN[theme]) for theme in ("light", "dark"))
