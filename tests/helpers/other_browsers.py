"""Firefox and WebKit, as far as the tests need them: open a page, run a function in it, move and press the pointer.

Firefox is spoken to by WebDriver BiDi on its own port, so it needs no geckodriver; WebKit by selenium and WebKitWebDriver.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.helpers.patience import PATIENCE, eventually

WIDTH, HEIGHT = 1400, 900
CALL = "async (given) => JSON.stringify((await (%s)(...JSON.parse(given))) ?? null)"


class Browser(Protocol):
    """What both can do."""

    version: str

    def goto(self, url: str) -> None: ...

    def run(self, function: str, *given: Any) -> Any:
        """Call a JavaScript function in the page, wait for its promise, and return what it gives."""
        ...

    def pointer(self, x: float, y: float, *, press: bool = False) -> None:
        """Move the pointer to a place of the window, and press there."""
        ...


class Firefox:
    """A Firefox without a window."""

    def __init__(self, path: str, profile: Path) -> None:
        websocket = pytest.importorskip("websocket", reason="needs selenium's websocket-client")
        self.path = path
        self.process = subprocess.Popen(
            [path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.socket: Any = None
        try:
            told = profile / "WebDriverBiDiServer.json"
            eventually(lambda: self.port(told) is not None, f"{path} starts")
            port = self.port(told)
            self.socket = websocket.create_connection(
                f"ws://127.0.0.1:{port}/session", timeout=PATIENCE, suppress_origin=True
            )
            self.sent = 0
            self.version = self.send("session.new", capabilities={})["capabilities"]["browserVersion"]
            self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]
            self.send(
                "browsingContext.setViewport",
                context=self.context,
                viewport={"width": WIDTH, "height": HEIGHT},
            )
        except BaseException:
            self.close()
            raise

    def port(self, told: Path) -> int | None:
        if self.process.poll() is not None:  # a stand-in for a package that is not there, say
            pytest.skip(f"{self.path} does not start: it ended with status {self.process.returncode}")
        try:
            return json.loads(told.read_text(encoding="utf-8"))["ws_port"]
        except (FileNotFoundError, json.JSONDecodeError):  # not written yet, or not to its end
            return None

    def send(self, method: str, **params: Any) -> Any:
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv())).get("id") != self.sent:
            pass  # an event
        assert answer["type"] == "success", answer
        return answer["result"]

    def goto(self, url: str) -> None:
        self.send("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def run(self, function: str, *given: Any) -> Any:
        answer = self.send(
            "script.callFunction",
            functionDeclaration=CALL % function,
            arguments=[{"type": "string", "value": json.dumps(given)}],
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def pointer(self, x: float, y: float, *, press: bool = False) -> None:
        actions: list[Any] = [{"type": "pointerMove", "x": round(x), "y": round(y)}]
        if press:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "actions": actions}
        self.send("input.performActions", context=self.context, actions=[mouse])

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)


class WebKit:
    """WebKitGTK's small browser."""

    def __init__(self, driver: str, path: str, display: str) -> None:
        from selenium.webdriver import WebKitGTK
        from selenium.webdriver.webkitgtk.options import Options
        from selenium.webdriver.webkitgtk.service import Service

        options = Options()
        options.binary_location = path
        options.add_argument("--automation")
        self.driver: Any = WebKitGTK(
            options=options, service=Service(driver, env={**os.environ, "DISPLAY": display})
        )
        self.version = self.driver.capabilities["browserVersion"]
        self.driver.set_script_timeout(PATIENCE)
        self.driver.set_window_size(WIDTH, HEIGHT)

    def goto(self, url: str) -> None:
        self.driver.get(url)

    def run(self, function: str, *given: Any) -> Any:
        script = f"""const [given, done] = arguments;
          ({CALL % function})(given).then((found) => done([found]), (error) => done([null, String(error)]));"""
        found, *error = self.driver.execute_async_script(script, json.dumps(given))
        assert not error, error
        return json.loads(found)

    def pointer(self, x: float, y: float, *, press: bool = False) -> None:
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        actions = ActionBuilder(self.driver, duration=0)
        actions.pointer_action.move_to_location(round(x), round(y))
        if press:
            actions.pointer_action.pointer_down().pointer_up()
        actions.perform()

    def close(self) -> None:
        self.driver.quit()


@contextmanager
def display() -> Iterator[str]:
    """The name of a display: the user's, else that of an Xvfb."""
    if found := os.environ.get("DISPLAY"):
        yield found
        return
    if not (path := shutil.which("Xvfb")):
        pytest.skip("WebKit needs a display: set DISPLAY, or install Xvfb")
    server = subprocess.Popen(
        [path, "-displayfd", "1", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield f":{server.stdout.readline().strip()}"
    finally:
        server.terminate()
        server.wait(PATIENCE)


@contextmanager
def firefox(folder: Path) -> Iterator[Browser]:
    path = shutil.which("firefox") or shutil.which("firefox-esr")
    if not path:
        pytest.skip("no Firefox on the PATH (Debian: firefox-esr)")
    browser = Firefox(path, folder)
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def webkit(folder: Path) -> Iterator[Browser]:
    pytest.importorskip("selenium", reason="WebKit needs selenium: `make .venv/tools` installs it")
    driver = shutil.which("WebKitWebDriver")
    paths = glob("/usr/lib*/webkit2gtk-*/MiniBrowser") + glob("/usr/lib*/*/webkit2gtk-*/MiniBrowser")
    if not driver or not paths:
        pytest.skip("no WebKitWebDriver with its MiniBrowser (Debian: webkit2gtk-driver)")
    with display() as name:
        browser = WebKit(driver, paths[0], name)
        try:
            yield browser
        finally:
            browser.close()
