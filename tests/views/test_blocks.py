"""What tables of a section send to the page."""

from __future__ import annotations

import pandas as pd

from headscope.measures.columns import column
from headscope.views import blocks


def test_a_page_holds_what_a_column_says_beyond_its_name_and_every_digit_of_what_is_saved() -> None:
    rows = pd.DataFrame({"ci_low": [1 / 3], "q": [0.5], "offset": [1 / 3]})
    made = blocks.table("scores", rows, ("ci_low", "q"), ["ci_low", "offset"], title="Scores")
    assert made["columns"] == [
        {"name": "ci_low"},
        {"name": "q", "format": "probability", "help": column("q").help},
    ]
    assert made["values"] == {"ci_low": [1 / 3], "q": [0.5], "offset": [0.333333]}
