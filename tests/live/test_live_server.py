"""`headscope serve` from outside: who may ask, and what becomes of bad questions."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from headscope import cli
from headscope.errors import InputError
from headscope.live.frames import pack, unpack
from tests.helpers.patience import PATIENCE

pytestmark = pytest.mark.slow

websockets = pytest.importorskip("websockets.sync.client")
closing = pytest.importorskip("websockets.exceptions")
pytest.importorskip("uvicorn")

SRC = Path(__file__).resolve().parents[2] / "src"
TOKEN = "a-token-for-tests"
CALL = "import sys; sys.argv[0] = 'headscope'; from headscope.cli import main; main()"
ENV = {**os.environ, "PYTHONPATH": str(SRC), "HF_HUB_OFFLINE": "1", "HEADSCOPE_TOKEN": TOKEN}


TEXTS = "One text.\n\nText A.\tText B.\n"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """That of a server which ends when it is interrupted, though a page is open."""
    texts = tmp_path_factory.mktemp("texts") / "texts.txt"
    texts.write_text(TEXTS, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", CALL, "serve", "--no-browser", "--read-only-text", str(texts)],
        env=ENV,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    match = re.fullmatch(rf"http://127\.0\.0\.1:(\d+)/\?token={TOKEN}", address)
    assert match, address
    yield int(match[1])
    with ExitStack() as stack, suppress(closing.ConnectionClosed):
        Client(int(match[1]), stack)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert texts.read_text(encoding="utf-8") == TEXTS


def get(port: int, path: str, **headers: str) -> tuple[int, str, Any]:
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


class Client:
    """A page without a browser."""

    def __init__(self, port: int, stack: ExitStack) -> None:
        origin: Any = f"http://127.0.0.1:{port}"
        address = f"ws://127.0.0.1:{port}/live?token={TOKEN}"
        self.socket = stack.enter_context(websockets.connect(address, origin=origin, max_size=None))
        self.info = self.read()[0]["info"]

    def read(self) -> tuple[dict[str, Any], list[bytes]]:
        frame = self.socket.recv(timeout=PATIENCE)
        assert isinstance(frame, bytes)
        size = int.from_bytes(frame[:4], "little")
        content = json.loads(frame[4 : 4 + size])
        buffers, at = [], 4 + size
        for length in content.pop("lengths"):
            buffers.append(frame[at : at + length])
            at += length
        assert at == len(frame)
        return content, buffers

    def send(self, **question: Any) -> None:
        self.socket.send(pack(question))

    def ask(self, **question: Any) -> dict[str, Any]:
        self.send(**question)
        return self.read()[0]

    def closed(self) -> int:
        """The code with which the server closes the socket."""
        try:
            for _ in range(2000):
                self.socket.recv(timeout=PATIENCE)
        except closing.ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006
        raise AssertionError("the socket is still open")


@pytest.fixture
def connect() -> Iterator[Callable[[int], Client]]:
    """Connect to a server on a port."""
    with ExitStack() as stack, suppress(closing.ConnectionClosed):
        yield lambda port: Client(port, stack)


def tokens(answer: dict[str, Any]) -> list[str]:
    assert answer["kind"] == "shown", answer
    return answer["payload"]["inputs"][0]["parts"][0]["query"]["pieces"]


def test_frames_go_there_and_back() -> None:
    assert unpack(pack({"kind": "show", "text": "é </script>"})) == {
        "kind": "show",
        "text": "é </script>",
        "lengths": [],
    }
    for broken in (
        b"",
        b"\x01\x00\x00",
        pack({"a": 1})[:-1],
        pack({"a": 1}) + b"x",
        b"\x02\x00\x00\x00[]",
        b"\x01\x00\x00\x00{",
    ):
        with pytest.raises(InputError, match="frame: expected"):
            unpack(broken)


def test_the_page_wants_the_token(port: int) -> None:
    status, html, headers = get(port, f"/?token={TOKEN}")
    assert status == 200
    assert "connect-src 'self'" in html
    assert "default-src 'none'" in html
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert TOKEN not in html
    for path in ("/", "/?token=", "/?token=another-token", f"/?token={TOKEN}x", f"/?Token={TOKEN}"):
        status, text, _ = get(port, path)
        assert status == 403, path
        assert "<script" not in text
    assert (
        get(port, f"/?token={TOKEN}", Host="evil.example")[0] == 403
    )  # a name that leads here for somebody else


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/static/../x", "//etc/passwd", "/live", "/docs"],
)
def test_there_is_no_other_file(port: int, path: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
        raw.sendall(
            f"GET {path}?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert re.match(rb"HTTP/1.1 40[034] ", answer), answer[:80]
    assert b"root:" not in answer


@pytest.mark.parametrize(
    ("token", "origin"),
    [
        ("", "http://127.0.0.1:{port}"),
        ("wrong-token", "http://127.0.0.1:{port}"),
        (TOKEN, None),
        (TOKEN, "http://evil.example"),
        (TOKEN, "http://127.0.0.1:1"),
        (TOKEN, "null"),
    ],
)
def test_the_socket_wants_the_token_and_its_own_page(port: int, token: str, origin: str | None) -> None:
    named: Any = origin and origin.format(port=port)
    address = f"ws://127.0.0.1:{port}/live?token={token}"
    with pytest.raises(closing.InvalidStatus) as caught, websockets.connect(address, origin=named):
        pass
    assert caught.value.response.status_code == 403


def test_two_pages_get_their_own_answers(port: int, connect: Callable[[int], Client]) -> None:
    first, second = connect(port), connect(port)
    assert first.info == second.info
    one = first.ask(kind="show", id=1, input={"text": "One text."})
    two = second.ask(kind="show", id=1, input={"text": "<b>Another</b> & </script>"})
    assert "one" in tokens(one)
    assert {"another", "script", "<"} <= set(tokens(two))
    assert first.ask(kind="arrays", id=2, turn=one["turn"], names=[])["arrays"] == []
    first.socket.close()
    assert second.ask(kind="show", id=3, input={"text": "Still here."})["id"] == 3


@pytest.mark.parametrize(
    "frame",
    ["text", b"garbage", pack({"a": 1})[:-1], b"\x02\x00\x00\x00[]", b"\x05\x00\x00\x00\xff\xff\xff\xff\xff", b""],
    ids=["text", "garbage", "cut off", "a list", "no Unicode", "empty"],
)  # fmt: skip
def test_what_is_no_question_closes_its_own_socket(
    port: int, frame: Any, connect: Callable[[int], Client]
) -> None:
    other, client = connect(port), connect(port)
    client.socket.send(frame)
    assert client.closed() == 1008
    assert other.ask(kind="show", id=1, input={"text": "Still here."})["kind"] == "shown"


def test_a_frame_that_is_too_long_closes_its_own_socket(port: int, connect: Callable[[int], Client]) -> None:
    other, client = connect(port), connect(port)
    with suppress(closing.ConnectionClosed):  # before all of it is sent
        client.send(kind="show", id=1, input={"text": "x" * 2_000_000})
    assert client.closed() in (1009, 1006)  # told why, or cut off as it still sends
    assert other.ask(kind="show", id=1, input={"text": "Still here."})["kind"] == "shown"


def test_a_thousand_inputs_at_once(port: int, connect: Callable[[int], Client]) -> None:
    client = connect(port)
    for number in range(1000):
        client.send(kind="show", id=number, input={"text": f"Number {number}."})
    found: dict[int, dict[str, Any]] = {}
    while 999 not in found:
        content, _ = client.read()
        found[content["id"]] = content
    assert str(999)[0] in "".join(tokens(found[999]))
    stale = [each for each in found.values() if each["kind"] == "error" and each["stale"]]
    shown = [each for each in found.values() if each["kind"] == "shown"]
    assert len(stale) + len(shown) == 1000
    assert len(stale) > 500
    assert client.ask(kind="show", id=1, input={"text": "Still here."})["kind"] == "shown"


def test_too_many_questions_at_once_close_the_socket(port: int, connect: Callable[[int], Client]) -> None:
    client = connect(port)
    turn = client.ask(kind="show", id=0, input={"text": "word " * 200})["turn"]
    with suppress(closing.ConnectionClosed):
        for number in range(500):
            client.send(kind="who", id=number, turn=turn)
    assert client.closed() == 1008
    assert connect(port).ask(kind="show", id=1, input={"text": "Still here."})["kind"] == "shown"


def test_odd_questions_are_answered(port: int, connect: Callable[[int], Client]) -> None:
    client = connect(port)
    for question in (
        {},
        {"kind": 3},
        {"kind": "show", "id": "x"},
        {"kind": None, "id": 1},
        {"kind": "stale", "id": [1]},
    ):
        answer = client.ask(**question)
        assert answer["kind"] == "error"
        assert isinstance(answer["id"], int)


def test_texts_are_offered(port: int, connect: Callable[[int], Client]) -> None:
    assert connect(port).info["examples"] == [{"text": "One text."}, {"text": "Text A.", "pair": "Text B."}]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What the command says as it refuses: one line, before it would listen."""
    monkeypatch.setattr("headscope.live.server.serve", None)

    def call(*options: str) -> str:
        monkeypatch.setattr("sys.argv", ["headscope", "serve", "--no-browser", *options])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        return line

    return call


def test_texts_that_are_none_are_refused(tmp_path: Path, said: Callable[..., str]) -> None:
    lines = tmp_path / "texts.jsonl"
    lines.write_text('{"text": "a", "pair": "b"}\n{"text": 3}\n', encoding="utf-8")
    assert (
        said("--read-only-text", str(lines))
        == f"headscope: {lines}:2: input, text: expected a text, found int"
    )
    lines.write_text("{", encoding="utf-8")
    assert (
        said("--read-only-text", str(lines))
        == f"headscope: {lines}:1: expected a JSON object, found broken JSON at column 2 (Expecting property name enclosed in double quotes)"
    )
    lines.write_text("\n", encoding="utf-8")
    assert "expected a text on each line, found none" in said("--read-only-text", str(lines))
    assert "expected a file, found nothing there" in said("--read-only-text", str(tmp_path / "none.txt"))


def test_a_port_in_use_is_said(said: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        assert f"cannot listen on {number}" in said("--port", str(number))


def test_a_token_that_is_too_short_is_refused(
    said: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "at least 8 letters" in said("--token", "short")
    monkeypatch.setenv("HEADSCOPE_TOKEN", "with spaces in it")
    assert "at least 8 letters" in said()
