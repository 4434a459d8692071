"""A live model behind a page on this machine: one page, one socket, one model that all pages share.

A message and its buffers as one binary frame: the length of the JSON, the JSON, the buffers one after another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from headscope.core.failures import reason
from headscope.core.types import AnyDict, AnyMapping
from headscope.errors import InputError
from headscope.live.session import Live, fault
from headscope.views.page import page
from headscope.views.wire import LivePayload

_HEAD = 4


def pack(content: AnyMapping, buffers: Sequence[bytes] = ()) -> bytes:
    r"""A frame. The JSON has the key ``lengths``: of the buffers, in bytes.

    >>> pack({"kind": "arrays"}, [b"ab"])
    b'\x1f\x00\x00\x00{"kind":"arrays","lengths":[2]}ab'
    """
    text = json.dumps(
        {**content, "lengths": [len(buffer) for buffer in buffers]}, allow_nan=False, separators=(",", ":")
    ).encode()
    return b"".join([len(text).to_bytes(_HEAD, "little"), text, *buffers])


def unpack(frame: bytes) -> AnyDict:
    """What a page asks: a frame without buffers. Raises `InputError` for anything else."""
    size = int.from_bytes(frame[:_HEAD], "little")
    if len(frame) < _HEAD or len(frame) != _HEAD + size:
        raise InputError(f"frame: expected the length of a message and the message, found {len(frame)} bytes")
    try:
        message: Any = json.loads(frame[_HEAD:], parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise InputError("frame: expected JSON") from None
    if not isinstance(message, dict):
        raise InputError(f"frame: expected an object, found {type(message).__name__}")
    return cast("AnyDict", message)


def _refuse(_: str) -> None:
    raise ValueError  # NaN and infinity, which are no JSON


HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""By what names a browser on this machine may ask."""

LONGEST_FRAME = 1_000_000
"""Bytes of a question at most."""

WAITING = 64
"""Questions of a page that may wait for an answer at once."""

POLICY, FAILED = 1008, 1011
"""The codes with which a socket is closed to one who may not ask, and where something failed."""

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of all that is sent."""


def application(open_: Callable[[], Live], token: str, *, title: str = "headscope") -> Starlette:
    """The application: ``/`` is the page, ``/live`` its socket; both want the token.

    Args:
        open_: a new session of the models, for a page that has connected.
        token: what an address must hold.
        title: of the page.
    """
    pool = ThreadPoolExecutor(1, "headscope-model")
    payload = LivePayload(kind="live", version=1, info=open_().info)
    html = page(payload, {}, bundle="live", title=title, connect=True)

    def known(given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), token.encode())

    async def show(request: Request) -> Response:
        try:
            here = _place(f"//{request.headers.get('host', '')}").hostname in NAMES
        except InputError as error:
            return PlainTextResponse(f"headscope: {error}\n", 400)
        if not here or not known(request.query_params.get("token")):
            return PlainTextResponse(
                "headscope: this address needs the token that `headscope serve` printed\n", 403
            )
        return HTMLResponse(html)

    async def answer(websocket: WebSocket) -> None:
        asked, may = websocket.headers, False
        with contextlib.suppress(InputError):
            host = asked.get("host", "")
            may = _place(f"//{host}").hostname in NAMES and _place(asked.get("origin", "")).netloc == host
        if not (may and known(websocket.query_params.get("token"))):
            await websocket.close(POLICY)
            return
        await websocket.accept()
        await _Page(websocket, open_(), pool).run()

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncGenerator[None]:
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    routes = [Route("/", show), WebSocketRoute("/live", answer)]
    return Starlette(routes=routes, lifespan=life)


def _place(address: str) -> SplitResult:
    """The parts of an address. Raises `InputError` for what is none."""
    try:
        return urlsplit(address)
    except ValueError:
        raise InputError(f"expected the name of a host, found {address[2:60]!r}") from None


class _Page:
    """A page that is connected: its questions are answered in turn, in the one thread that the model has.

    Of several inputs that wait, the last is run, and what was asked before it is answered as stale; ``stop`` ends what
    runs.
    """

    def __init__(self, websocket: WebSocket, live: Live, pool: ThreadPoolExecutor) -> None:
        self._websocket, self._live, self._pool = websocket, live, pool
        self._waiting: list[AnyDict] = []
        self._come = asyncio.Event()
        self._stopped = False

    async def run(self) -> None:
        """Answer until the page is gone, or what reads or answers its questions fails: then it is told why."""
        await self._websocket.send_bytes(pack({"kind": "info", "id": 0, "info": self._live.info}))
        tasks = [asyncio.create_task(job()) for job in (self._read, self._work)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopped = True
            for task in tasks:
                task.cancel()
        for error in (task.exception() for task in done):
            if not isinstance(error, WebSocketDisconnect):
                with contextlib.suppress(Exception):
                    code = POLICY if isinstance(error, InputError) else FAILED
                    await self._websocket.close(code, reason(error or RuntimeError("ended"))[:120])

    async def _read(self) -> None:
        while True:
            self._take(await self._frame())

    async def _frame(self) -> AnyDict:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        return unpack(message.get("bytes") or b"")

    def _take(self, asked: AnyDict) -> None:
        if asked.get("kind") == "stop":
            self._stopped = True
            return
        if asked.get("kind") == "show":  # what waits is of the input before
            for question in self._waiting:
                question["kind"] = "stale"
        if sum(question["kind"] != "stale" for question in self._waiting) >= WAITING:
            raise InputError(f"expected at most {WAITING} questions at once")
        asked.setdefault("kind", "")
        self._waiting.append(asked)
        self._come.set()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._come.wait()
            if not self._waiting:
                self._come.clear()
                continue
            asked = self._waiting.pop(0)
            self._stopped = False
            if asked["kind"] == "stale":
                await self._websocket.send_bytes(pack(fault(asked, "", stale=True)))
                continue
            frame = await loop.run_in_executor(self._pool, self._answer, asked)
            await self._websocket.send_bytes(frame)

    def _answer(self, asked: AnyDict) -> bytes:
        """The frame of an answer; that of what is wrong with one that cannot be sent."""
        try:
            return pack(*self._live.answer(asked, lambda: self._stopped))
        except BaseException as error:  # a panic of a library in Rust is no `Exception`
            return pack(fault(asked, f"the answer cannot be sent ({reason(error)})"))


def free_socket(port: int | None) -> socket.socket:
    """A socket that listens on this machine alone.

    Raises `InputError` where the port is in use; without one, any that is free is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if (
        os.name != "nt"
    ):  # a port of which the last server has just ended; on Windows it would mean another thing
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port or 0))
        listener.listen()  # now: another that is not ready yet, as its model loads, may have the port as well
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "no such port"
        raise InputError(f"--port: cannot listen on {port} ({why}); take another one, or none") from None
    return listener


def serve(
    models: Sequence[Any],
    listening: socket.socket,
    *,
    token: str | None = None,
    opened: Callable[[str], None] = lambda address: None,
    **options: Any,
) -> None:
    """Serve until Ctrl-C.

    Args:
        models: one from `headscope.load`, or two that read the same.
        listening: from `free_socket`.
        token: what the address holds; None: a new one.
        opened: is given the address once the page can be asked for.
        options: for `Live`.
    """
    import uvicorn

    token = secrets.token_urlsafe(24) if token is None else token
    address = f"http://{HOST}:{listening.getsockname()[1]}/?token={token}"

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            opened(address)

    names = " | ".join(model.name for model in models)
    config = uvicorn.Config(
        application(lambda: Live(*models, **options), token, title=f"headscope: {names}"),
        log_level="warning",
        access_log=False,
        headers=[*HEADERS.items()],
        ws="websockets-sansio",
        ws_max_size=LONGEST_FRAME,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
    )
    with contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])
