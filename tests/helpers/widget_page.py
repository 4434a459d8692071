"""A page that plays the notebook around a widget."""

from __future__ import annotations

import base64
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from headscope.views.page import bundle_file, script_json

PAGE = """
<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><style>%(css)s</style>
<body data-jp-theme-light="true"><div id="cell"></div>
<script type="module">
%(js)s
const data = %(data)s;
const view = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const traits = { payload: data.payload, state: data.payload.state,
  blobs: Object.fromEntries(Object.entries(data.blobs).map(([name, text]) => [name, view(text)])) };
const render = model => widget.render({ model, el: document.getElementById("cell") });
%(script)s
</script>
"""


def write(
    folder: Path, script: str, payload: Any, blobs: Mapping[str, bytes], without: Container[str] = ()
) -> str:
    """The address of a page whose `script` makes the widget's model and renders it, of `traits` without some blobs."""
    module, _, exported = bundle_file("widget.js").rpartition("export{")
    sent = {key: base64.b64encode(raw).decode() for key, raw in blobs.items() if key not in without}
    parts = {
        "css": bundle_file("widget.css"),
        "js": f"{module}\nconst widget = {exported.split(' as default')[0]};",
        "data": script_json({"payload": payload, "blobs": sent}),
        "script": script,
    }
    path = folder / "notebook.html"
    path.write_text(PAGE % parts, encoding="utf-8")
    return path.as_uri()
