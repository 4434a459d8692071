"""`headscope links`: heads alone or together, and what it says of them."""

from __future__ import annotations

from typing import Any

from headscope.core.validation import Count


def run(
    model: Any,
    corpus: Any,
    *,
    together: bool = False,
    symmetrise: bool = False,
    least: Count | None = None,
    paths: Any = None,
    format: Any = None,
    **options: Any,
) -> Any:
    """The heads of links, or all of them together.

    Args:
        model: from `headscope.load`.
        corpus: with links.
        together: all heads together: a sparse logistic regression and the mean of the best few, beside the best head.
        symmetrise: with --together: maps and their transposes with average-product correction, for contacts.
        least: instances that a label needs to get a best head: by default 20, of the built-in pictures 10.
        paths: what was typed; without any, and without a format, the corpus is one that ships in the package.
        **options: of `headscope.links`.
    """
    from headscope.analyses.links.combine.run import combine_heads
    from headscope.analyses.links.run import links

    pictures = not paths and format is None and model.image_processor is not None
    options["least"] = least or (10 if pictures else 20)
    if not together:
        return links(model, corpus, **options)
    del options["skip_failures"]
    return combine_heads(model, corpus, symmetrise=symmetrise, **options)
