"""A process that works on blocks for another one, which starts it (`headscope.runs.engines.processes`).

It reads messages from its standard input and writes them to its standard output, each pickled and after its length.
What the models or measures print goes to stderr. It ends when its input does.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from typing import IO, Any

LENGTH = 8
"""Bytes of a message's length."""


def send(stream: IO[bytes], message: object) -> None:
    """Write a message."""
    data = pickle.dumps(message, 5)
    stream.write(len(data).to_bytes(LENGTH, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message; None where there is none, or not a whole one."""
    size = int.from_bytes(head, "little") if len(head := stream.read(LENGTH)) == LENGTH else -1
    data = stream.read(size) if size >= 0 else b""
    return pickle.loads(data) if len(data) == size else None


def main() -> None:
    """Work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    answers, asked = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    todo: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        while (message := receive(asked)) is not None:
            todo.put(message)
        os._exit(0)  # even in the midst of a block: nobody waits for it

    threading.Thread(target=listen, daemon=True).start()
    from headscope.core.failures import reason
    from headscope.runs.engines.worker import Worker

    worker = Worker()
    while True:
        run, unit, data, device = todo.get()
        if device is None:
            send(answers, ("answer", run, unit, worker.run(data)))
            continue
        try:
            send(answers, ("ready", run, unit, worker.prepare(data, device)))
        except Exception as error:
            send(answers, ("failed", run, unit, reason(error)))


if __name__ == "__main__":
    sys.exit(main())
