"""The server of live pages, near at hand."""

from __future__ import annotations

from queue import Queue
from threading import Thread
from unittest.mock import patch

import uvicorn

from headscope.live.server import free_socket, serve
from headscope.models import Model
from tests.helpers.patience import PATIENCE

TOKEN = "a-token-for-tests"


class Server:
    """What `headscope serve` runs, in a thread of this process: loading torch once more takes longer than a test."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def start(self, port: int | None = None) -> str:
        """Start it, and return its address."""
        listening = free_socket(port)
        told: Queue[str] = Queue()
        made: list[uvicorn.Server] = []

        class Kept(uvicorn.Server):
            def __init__(self, config: uvicorn.Config) -> None:
                super().__init__(config)
                made.append(self)

        def run() -> None:
            serve([self.model], listening, token=TOKEN, opened=told.put, loaded="hs.load()")

        with patch.object(uvicorn, "Server", Kept):
            self.thread = Thread(target=run, daemon=True)
            self.thread.start()
            address = told.get(timeout=PATIENCE)
        self.server = made[0]
        return address

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
