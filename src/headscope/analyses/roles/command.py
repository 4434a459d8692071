"""`headscope roles`: what it refuses."""

from headscope.errors import InputError


def checks(*, shard: str | None = None) -> None:
    """Raise `InputError` for a shard.

    Args:
        shard: refused: roles cannot be split; see --devices and --dask.
    """
    if shard is not None:
        raise InputError(
            "--shard: expected none, as the sinks that all inputs show decide what is measured next, found one: split "
            "the work by --devices or --dask, or read fewer inputs by --limit"
        )
