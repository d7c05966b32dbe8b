"""Chromium over its debugging protocol: what a page shows, contains and does, as plain values to compare."""

from __future__ import annotations

import asyncio
import atexit
import base64
import itertools
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import aiohttp

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
TIMEOUT = 60.0
TRIES = 3
T = TypeVar("T")
# Elements that are left out depend on the text: its pieces, and the points of a chart that have room for a label.
CENSUS = """(() => {
  const count = {};
  for (const element of document.querySelectorAll('*')) {
    const name = element.tagName.toLowerCase();
    if (!['bdi', 'span', 'mark', 'text'].includes(name)) count[name] = (count[name] || 0) + 1;
    for (const attribute of element.attributes)
      if (attribute.name.startsWith('on') || attribute.name === 'style') count['@' + attribute.name] = 1;
  }
  return count;
})()"""
OVERFLOW = """(() => {
  const wide = document.scrollingElement.scrollWidth > innerWidth;
  const open = document.querySelectorAll('details');
  open.forEach(details => details.open = true);
  const opened = document.scrollingElement.scrollWidth > innerWidth;
  open.forEach(details => details.open = false);
  return [wide, opened];
})()"""


def find_browser() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Activity:
    """What a page did while it was open."""

    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Page:
    """One tab. The reply to a command is found by its number; everything else that comes is recorded."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.activity = Activity()
        self._reader = asyncio.create_task(self._read())

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return await asyncio.wait_for(reply, TIMEOUT)

    async def evaluate(self, script: str) -> Any:
        """The value of an expression, which the page's own policy does not restrict; a promise is awaited."""
        reply = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise AssertionError(reply["exceptionDetails"])
        return reply["result"].get("value")

    async def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Activity:
        """Open a file at a size and in a colour scheme; return the record of what it does."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        for _ in range(TRIES):
            self.activity = Activity()
            self._loaded.clear()
            reply = await self.call("Page.navigate", url=path.as_uri())
            await asyncio.wait_for(self._loaded.wait(), TIMEOUT)
            if "errorText" not in reply:  # a browser that has just started may show a page of its own instead
                return self.activity
        raise AssertionError(reply["errorText"])

    async def print(self, path: Path) -> None:
        """Print the page to a PDF file, on the paper that its style sheet names."""
        reply = await self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        path.write_bytes(base64.b64decode(reply["data"]))

    async def _read(self) -> None:
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                reply = self._replies.pop(event["id"])
                if "error" in event:
                    reply.set_exception(AssertionError(event["error"]))
                else:
                    reply.set_result(event["result"])
            else:
                await self._record(event["method"], event["params"])

    async def _record(self, method: str, event: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Network.requestWillBeSent":
            self.activity.requests.append(event["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.activity.dialogs.append(event["message"])
            number = next(self._numbers)
            self._replies[number] = asyncio.get_running_loop().create_future()
            closing = {"id": number, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
            await self._socket.send_json(closing)
        elif method == "Log.entryAdded":
            self.activity.problems.append(event["entry"]["text"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.activity.problems.append(str(event))


class SharedBrowser:
    """One chromium with one tab for all tests, which is started when the first of them needs it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._page: Page | None = None

    def use(self, visit: Callable[[Page], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine returns that uses the one page."""

        async def run() -> T:
            if self._page is None:
                self._page = await self._start()
            return await visit(self._page)

        if self._page is None:
            Thread(target=self._loop.run_forever, daemon=True).start()
            atexit.register(lambda: asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(TIMEOUT))
        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    async def _start(self) -> Page:
        executable = find_browser()
        assert executable is not None
        folder = tempfile.TemporaryDirectory(prefix="equipoise-", ignore_cleanup_errors=True)
        profile = self._stack.enter_context(folder)
        process = await asyncio.create_subprocess_exec(
            *(executable, *FLAGS, f"--user-data-dir={profile}", "about:blank"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        self._stack.push_async_callback(process.wait)
        self._stack.callback(process.terminate)
        port = await _read_port(Path(profile) / "DevToolsActivePort")
        session = await self._stack.enter_async_context(aiohttp.ClientSession())
        async with session.get(f"http://127.0.0.1:{port}/json/list") as reply:
            tab = next(target for target in await reply.json() if target["type"] == "page")
        socket = session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0)
        page = Page(await self._stack.enter_async_context(socket))
        for domain in ("Page", "Network", "Log", "Runtime"):
            await page.call(f"{domain}.enable")
        return page


SHARED = SharedBrowser()


async def _read_port(file: Path) -> str:
    """The port that chromium chose, as soon as it has written it to this file."""
    for _ in range(int(TIMEOUT / 0.05)):
        if file.is_file() and (lines := file.read_text().splitlines()):
            return lines[0]
        await asyncio.sleep(0.05)
    raise AssertionError("chromium did not start")


@dataclass(frozen=True, kw_only=True)
class Look:
    """A page as the browser shows it. `values` are what the scripts gave."""

    activity: Activity
    address: str
    census: dict[str, int]
    overflow: list[bool]
    values: dict[str, Any]


def look_at(pages: Sequence[tuple[Path, int, bool]], scripts: dict[str, str]) -> list[Look]:
    """Open pages one after another in one browser, at a width and light or dark."""

    async def visit(page: Page) -> list[Look]:
        looks = []
        for path, width, dark in pages:
            activity = await page.open(path, width=width, dark=dark)
            looks.append(
                Look(
                    activity=activity,
                    address=await page.evaluate("location.href"),
                    census=await page.evaluate(CENSUS),
                    overflow=await page.evaluate(OVERFLOW),
                    values={name: await page.evaluate(script) for name, script in scripts.items()},
                )
            )
        return looks

    return SHARED.use(visit)


def texts(selector: str) -> str:
    """A script that gives the text of the elements."""
    return f"[...document.querySelectorAll({selector!r})].map(element => element.textContent)"


def find_harm(look: Look, path: Path, harmless: Look) -> list[str]:
    """Everything that the page does or contains and a page with harmless text does not."""
    harm = [f"dialog: {message}" for message in look.activity.dialogs]
    harm += [f"request: {url}" for url in look.activity.requests if url != path.as_uri()]
    harm += [f"problem: {problem}" for problem in look.activity.problems]
    if look.address != path.as_uri():
        harm.append(f"address: {look.address}")
    for name in sorted(look.census.keys() | harmless.census.keys()):
        number, expected = look.census.get(name, 0), harmless.census.get(name, 0)
        if number != expected:
            harm.append(f"element: {number} {name}, not {expected}")
    return harm
