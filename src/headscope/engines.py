"""Where the blocks of a run over a corpus are worked on: here, in several processes, or on a cluster.

>>> headscope.measure(model, corpus, engine="cuda:*")                                    # doctest: +SKIP
>>> headscope.measure(model, corpus, engine=headscope.engines.Processes("cpu:4"))        # doctest: +SKIP
>>> headscope.measure(model, corpus, engine=headscope.engines.Dask(client))              # doctest: +SKIP
"""

from headscope.runs.engines import Dask, Here, Processes

__all__ = ["Dask", "Here", "Processes"]
