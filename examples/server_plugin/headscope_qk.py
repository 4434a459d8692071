"""A plug-in of vLLM and SGLang: it writes the queries and keys of requests as files of headscope.qk/1.

    pip install examples/server_plugin
    HEADSCOPE_QK=recorded vllm serve MODEL --enforce-eager --no-enable-prefix-caching
    HEADSCOPE_QK=recorded python -m sglang.launch_server --model MODEL --disable-cuda-graph --disable-radix-cache
    headscope import recorded/REQUEST.safetensors -o view.html

It does nothing without HEADSCOPE_QK, a folder. HEADSCOPE_REQUESTS=*probe* chooses requests by their ids (a client sets
them by the header X-Request-Id, or rid), HEADSCOPE_LAYERS=0,5-7 layers, HEADSCOPE_TOKENS=100:200 the tokens that look;
their keys begin at the first token. Read in their source: vLLM 0.33.0 (both model runners), SGLang 0.5.23.
"""

import json
import os
import re
import sys
from fnmatch import fnmatchcase
from functools import cache
from itertools import accumulate
from pathlib import Path


class Recorder:
    """What each request's layers attended with, by position, until the request is done."""

    def __init__(self, server, tensors=lambda *parts: parts):
        layers = re.findall(r"(\d+)(?:-(\d+))?", os.environ.get("HEADSCOPE_LAYERS", ""))
        self.layers = {one for a, b in layers for one in range(int(a), int(b or a) + 1)}
        first, _, last = os.environ.get("HEADSCOPE_TOKENS", ":").partition(":")
        self.first, self.last = int(first or 0), int(last or sys.maxsize)
        self.server, self.tensors, self.writes, self.model = server, tensors, True, ""
        self.requests, self.rows, self.refused = {}, list, {}

    def step(self, parts, batch):
        """Begin a forward pass: `parts` has each request's first position and count, `batch` their order and ids."""
        wanted = {r for r in parts if fnmatchcase(r, os.environ.get("HEADSCOPE_REQUESTS", "*"))} - {
            *self.refused
        }
        for request in wanted:
            self.requests.setdefault(request, {"ids": {}, "calls": {}, "length": 0})["length"] = sum(
                parts[request]
            )

        @cache
        def rows():
            order, ids = batch()
            ends = list(accumulate(parts[r][1] for r in order))
            ids, some = ids[: ends[-1]].tolist(), []
            for request, end in zip(order, ends, strict=True):
                start, count = parts[request]
                if request in wanted and (count := min(end - (begin := end - count), self.last - start)) > 0:
                    self.requests[request]["ids"].update(enumerate(ids[begin : begin + count], start))
                    some.append((request, start, slice(begin, begin + count)))
            return some

        self.rows = rows if wanted else list

    def layer(self, number, query, key, **about):
        """Keep the rows of a layer's call, ``[token head dim]``."""
        if not self.layers or number in self.layers:
            for request, start, rows in self.rows():
                if key is None or len(query) < rows.stop or query.element_size() < 2:
                    self.refuse(
                        request,
                        f"layer {number} has no plain keys of its own, a part of the batch, or 8 bits",
                    )
                elif request in self.requests:
                    parts = [one.to("cpu", copy=True) for one in self.tensors(query[rows], key[rows])]
                    self.requests[request]["calls"].setdefault(number, (about, []))[1].append((start, *parts))

    def refuse(self, request, why):
        """Keep no more of a request, and say why."""
        self.refused[request] = why
        if self.requests.pop(request, None) is not None:
            print(f"headscope: {request} is not written: {why}", file=sys.stderr, flush=True)

    def finish(self, requests):
        """Write what is known of requests that are done."""
        for request in requests:
            if kept := self.requests.get(request):
                length = min(kept["length"], self.last)
                if unseen := [place for place in range(length) if place not in kept["ids"]]:
                    self.refuse(
                        request,
                        f"tokens {unseen[0]} to {unseen[-1]} came from a cache of prefixes or ran in a CUDA graph; "
                        "start the server without them",
                    )
                elif length > self.first and kept["calls"] and self.writes:
                    self.write(request, kept["calls"], [kept["ids"][place] for place in range(length)])
            self.requests.pop(request, None)
            self.refused.pop(request, None)

    def write(self, request, calls, ids):
        """Write a request's file: what its layers attended with, and its tokens."""
        import torch
        from safetensors.torch import save_file

        def joined(chunks, which):
            array = torch.empty(len(ids), *chunks[0][which].shape[1:], dtype=chunks[0][which].dtype)
            for chunk in chunks:  # the last one stands: a request that was put off runs again
                array[chunk[0] : chunk[0] + len(chunk[which])] = chunk[which]
            return array.transpose(0, 1)

        arrays = {"key.ids": torch.tensor(ids), "query.ids": torch.tensor(ids[self.first :])}
        for number, (about, chunks) in sorted(calls.items()):
            arrays[f"query.{number}"] = joined(chunks, 1)[:, self.first :].contiguous()
            arrays[f"key.{number}"] = joined(chunks, 2).contiguous()
            if about["sinks"] is not None:
                arrays[f"sinks.{number}"] = about["sinks"].detach().float().cpu().clone()
        pieces, numbers = _pieces(self.model, ids), sorted(calls)
        description = {
            "positions": "applied",
            "query": pieces[self.first :],
            "key": pieces,
            "layers": numbers,
            "heads": [len(arrays[f"query.{number}"]) for number in numbers],
            **{name: [calls[number][0][name] for number in numbers] for name in ("scale", "softcap", "mask")},
            "meta": {"model": self.model, "server": self.server, "request": request},
        }
        folder = Path(os.environ["HEADSCOPE_QK"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (re.sub(r"[^\w.-]", "_", request) + ".safetensors")
        save_file(arrays, path, {"format": "headscope.qk/1", "description": json.dumps(description)})


def _pieces(model, ids):
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model, local_files_only=True).convert_ids_to_tokens(ids)
    except (OSError, ValueError):
        return [str(one) for one in ids]
