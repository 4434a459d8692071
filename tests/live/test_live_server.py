"""`headscope serve` from outside: who may ask, and what becomes of bad questions."""

from __future__ import annotations

import json
import os
import re
import shlex
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
from headscope.live.server import pack, unpack
from headscope.live.session import Live
from headscope.models import Model
from tests.helpers.patience import PATIENCE, eventually

pytestmark = pytest.mark.slow

websockets = pytest.importorskip("websockets.sync.client")
closing = pytest.importorskip("websockets.exceptions")
pytest.importorskip("uvicorn")

from headscope.live.server import _Page, free_socket  # noqa: E402  # pyright: ignore[reportPrivateUsage]
from tests.helpers.served import Server  # noqa: E402

SRC = Path(__file__).resolve().parents[2] / "src"
TOKEN = "a-token-for-tests"
CALL = "import sys; sys.argv[0] = 'headscope'; from headscope.cli import main; main()"
ENV = {**os.environ, "PYTHONPATH": str(SRC), "HF_HUB_OFFLINE": "1", "HEADSCOPE_TOKEN": TOKEN}


TEXTS = "One text.\n\nText A.\tText B.\n"


BROWSER = """import os, pathlib, sys, time, urllib.request
path = urllib.request.url2pathname(sys.argv[1].partition("://")[2])
told = pathlib.Path(__file__).with_name("told")
told.with_suffix(".part").write_text("\\n".join([str(os.getpid()), oct(os.stat(path).st_mode), sys.argv[1], open(path).read()]))
told.with_suffix(".part").rename(told)
time.sleep(600)
"""
"""One of the console: it runs until it is left, and everybody sees what it is called with."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that is opened with the page."""
    path = tmp_path_factory.mktemp("browser") / "browser.py"
    path.write_text(BROWSER)
    return path


@pytest.fixture(scope="module")
def address(browser: Path) -> Iterator[str]:
    """That of a server which ends when it is interrupted, though a page is open."""
    texts = browser.with_name("texts.txt")
    texts.write_text(TEXTS, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", CALL, "serve", "--read-only-text", str(texts)],
        env={**ENV, "BROWSER": f"{shlex.quote(sys.executable)} {shlex.quote(str(browser))} %s"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/\?token={TOKEN}", address), address
    yield address
    told = browser.with_name("told")
    eventually(told.exists, "the browser is called")
    number, _, called, _ = told.read_text().split("\n")
    os.kill(int(number), signal.SIGTERM)
    with ExitStack() as stack, suppress(closing.ConnectionClosed):
        Client(port_of(address), stack)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert texts.read_text(encoding="utf-8") == TEXTS
    assert not Path(called.removeprefix("file://")).parent.exists()


def port_of(address: str) -> int:
    return int(address.partition("127.0.0.1:")[2].partition("/")[0])


@pytest.fixture(scope="module")
def port(address: str) -> int:
    return port_of(address)


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
    wanted = {"kind": "show", "text": "é </script>", "lengths": []}
    assert unpack(pack({"kind": "show", "text": "é </script>"})) == wanted
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


@pytest.mark.parametrize("host", ["[", "[::1", "]", "a]b", "[v1.x"])
def test_a_host_that_is_none_is_a_bad_request(port: int, host: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
        raw.sendall(f"GET /?token={TOKEN} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 "), answer[:80]
    assert b"headscope: expected the name of a host, found" in answer


@pytest.mark.parametrize("path", [f"/?token={TOKEN}", "/", "/none"])
def test_nothing_that_is_sent_is_taken_for_another_kind(port: int, path: str) -> None:
    headers = get(port, path)[2]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


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
        (TOKEN, "http://[::1"),
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


def test_a_hundred_broken_frames_in_a_row_each_end_in_a_line(
    port: int, connect: Callable[[int], Client]
) -> None:
    """Broken JSON, other types, deep nesting, huge numbers, text in the place of bytes, closed in the middle."""
    other = connect(port)
    bodies: list[Any] = [
        b"{", b'{"kind":', b"[1]", b"3", b"null", b'"show"', b"[" * 5000, b"NaN", b'{"id": 1e999, "kind": NaN}',
        b'{"id": ' + b"9" * 5000 + b"}", b"\xff\xfe", b"",
    ]  # fmt: skip
    frames = [len(body).to_bytes(4, "little") + body for body in bodies]
    frames += ["text", "{}", b"\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00more"]
    for number in range(100):
        client = connect(port)
        client.socket.send(frames[number % len(frames)])
        if number % 5 == 4:
            client.socket.close()  # without waiting for what is said
            continue
        with pytest.raises(closing.ConnectionClosed) as closed:
            client.socket.recv(timeout=PATIENCE)
        told = closed.value.rcvd
        assert told is not None
        assert told.code == 1008
        assert told.reason.startswith("InputError: frame: expected ") or told.reason.startswith(
            "frame: expected "
        )
        assert "\n" not in told.reason
    assert other.ask(kind="show", id=1, input={"text": "Still here."})["kind"] == "shown"


@pytest.mark.parametrize(
    "sent",
    [b"GET\r\n\r\n", b"\x00\xff\x16\x03\x01", b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 99\r\n\r\n{", b"GET /?token=" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b""],
    ids=["no request", "bytes", "version", "cut off", "long", "nothing"],
)  # fmt: skip
def test_what_is_no_request_leaves_the_server_as_it_is(
    port: int, sent: bytes, connect: Callable[[int], Client]
) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as raw:
        raw.sendall(sent)
        raw.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            answer = b"".join(iter(lambda: raw.recv(65536), b""))
            assert b"Traceback" not in answer
            assert not answer or answer.startswith(b"HTTP/1.1 4")
    for method in ("POST", "PUT", "DELETE"):
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/", data=b"{", method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=PATIENCE)
        assert refused.value.code == 405
    assert connect(port).ask(kind="show", id=1, input={"text": "Still here."})["kind"] == "shown"


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


def test_texts_are_offered(port: int, connect: Callable[[int], Client]) -> None:
    assert connect(port).info["examples"] == [
        {"name": "One text.", "input": {"text": "One text."}},
        {"name": "Text A.", "input": {"text": "Text A.", "pair": "Text B."}},
    ]


@pytest.fixture
def near(demo: Model) -> Iterator[int]:
    """The port of a server in this process."""
    server = Server(demo)
    yield port_of(server.start())
    server.stop()


class Panic(BaseException):
    """As pyo3 has them: no `Exception`."""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            {"kind": "shown", "number": float("nan")},
            "the answer cannot be sent (ValueError: Out of range float",
        ),
        ({"kind": "shown", "number": {1, 2}}, "the answer cannot be sent (TypeError: Object of type set"),
        (Panic("split"), "the answer cannot be sent (Panic: split)"),
    ],
)
def test_an_answer_that_cannot_be_sent_is_said(
    answer: Any, told: str, near: int, connect: Callable[[int], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect(near)

    def broken(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer, []

    with monkeypatch.context() as patch:
        patch.setattr(Live, "answer", broken)
        found = client.ask(kind="show", id=5, input={"text": "One."})
    assert (found["kind"], found["id"], found["stale"]) == ("error", 5, False)
    assert found["error"].startswith(told)
    assert client.ask(kind="show", id=6, input={"text": "One."})["kind"] == "shown"


def test_what_answers_is_watched(
    near: int, connect: Callable[[int], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it fails the page is told, which connects again."""
    client = connect(near)
    with monkeypatch.context() as patch:
        patch.setattr(_Page, "_answer", lambda *_: "no bytes")
        client.send(kind="show", id=5, input={"text": "One."})
        assert client.closed() == 1011
    assert connect(near).ask(kind="show", id=6, input={"text": "One."})["kind"] == "shown"


def test_a_browser_is_not_waited_for_and_not_told_the_token(address: str, browser: Path) -> None:
    told = browser.with_name("told")
    eventually(told.exists, "the browser is called")
    _, mode, called, content = told.read_text().split("\n")
    assert (TOKEN in called, address in content) == (False, True)
    assert os.name == "nt" or mode == "0o100600"


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
    wanted = f"headscope: {lines}:2: input, text: expected a string, found 3"
    assert said("--read-only-text", str(lines)) == wanted
    lines.write_text("{", encoding="utf-8")
    assert (
        said("--read-only-text", str(lines))
        == f"headscope: {lines}:1: expected a JSON object, found broken JSON at column 2 (Expecting property name enclosed in double quotes)"
    )
    lines.write_text("\n", encoding="utf-8")
    assert "expected a text on each line, found none" in said("--read-only-text", str(lines))
    assert "expected a file, found nothing there" in said("--read-only-text", str(tmp_path / "none.txt"))


def test_a_port_of_a_server_that_is_not_ready_is_in_use() -> None:
    """Its model loads; to be told after one's own has loaded would be late."""
    with free_socket(None) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--port: cannot listen on {number}"):
            free_socket(number).close()


def test_a_token_is_read_from_a_file(
    said: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADSCOPE_TOKEN", raising=False)
    path, given = tmp_path / "token", []
    monkeypatch.setattr("headscope.live.server.serve", lambda *_, **options: given.append(options["token"]))
    path.write_text(f"{TOKEN}\n")
    monkeypatch.setattr("sys.argv", ["headscope", "serve", "--no-browser", "--token-file", str(path)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, given) == (0, [TOKEN])
    assert "--token-file: expected no --token" in said("--token", TOKEN, "--token-file", str(path))
    path.write_text("short")
    assert (
        said("--token-file", str(path)) == f"headscope: {path}: expected at least 8 letters, digits, - or _"
    )
    assert "expected a file of a token" in said("--token-file", str(tmp_path / "none"))


def test_a_token_that_is_too_short_is_refused(
    said: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "at least 8 letters" in said("--token", "short")
    monkeypatch.setenv("HEADSCOPE_TOKEN", "with spaces in it")
    assert "at least 8 letters" in said()
