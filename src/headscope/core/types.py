"""Types that many signatures name."""

import os
from collections.abc import Mapping
from typing import Any

AnyPath = str | os.PathLike[str]
"""A file or a folder."""

AnyDict = dict[str, Any]
AnyMapping = Mapping[str, Any]
