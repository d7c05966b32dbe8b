"""A real HTTP proxy on this machine: it forwards plain requests and opens tunnels, and notes what it saw."""

from __future__ import annotations

import asyncio
import base64
import threading
from typing import Self

from yarl import URL


class LoopbackProxy:
    """A proxy in its own thread, used with `with`. Whatever host is asked for, it goes to `target` on this machine.

    So names that no resolver knows can be asked for. With `login` ("user:password"), others are refused with 407.
    """

    def __init__(self, target: int, *, login: str | None = None, refuses: int | None = None) -> None:
        self._target = target
        self._login = login
        self._refuses = refuses
        self.seen: list[str] = []
        """The first lines of all requests."""
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    @property
    def url(self) -> str:
        login = f"{self._login}@" if self._login else ""
        return f"http://{login}127.0.0.1:{self.port}"

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stopped = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._handle(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.seen.append(head.partition("\r\n")[0])
        if self._refuses or not self._is_allowed(head):
            status = self._refuses or 407
            writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
            return
        method, address, _ = self.seen[-1].split(" ", 2)
        endpoint_reader, endpoint = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = URL(address).raw_path_qs
                endpoint.write(head.replace(address, path, 1).encode("latin-1"))
            await asyncio.gather(_copy(reader, endpoint), _copy(endpoint_reader, writer))
        finally:
            endpoint.close()

    def _is_allowed(self, head: str) -> bool:
        if self._login is None:
            return True
        expected = "Basic " + base64.b64encode(self._login.encode()).decode()
        return f"proxy-authorization: {expected}".lower() in head.lower()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
