"""A real HTTP proxy on this machine: it forwards plain requests and opens tunnels, and notes what it saw."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress

from yarl import URL

from serving.faulty import InThread


class LoopbackProxy(InThread):
    """A proxy that goes to the port `target` of this machine, whatever host is asked for.

    So names that no resolver knows can be asked for. With `login` ("user:password"), others are refused with 407.
    """

    def __init__(self, target: int, *, login: str | None = None, refuses: int | None = None) -> None:
        super().__init__()
        self._target = target
        self._login = login
        self._refuses = refuses
        self.seen: list[str] = []
        """The first lines of all requests."""

    @property
    def url(self) -> str:
        login = f"{self._login}@" if self._login else ""
        return f"http://{login}127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.seen.append(head.partition("\r\n")[0])
        expected = "Basic " + base64.b64encode((self._login or "").encode()).decode()
        if self._refuses or (self._login and expected.lower() not in head.lower()):
            status = self._refuses or 407
            writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            return
        method, address, _ = self.seen[-1].split(" ", 2)
        endpoint_reader, endpoint = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                endpoint.write(head.replace(address, URL(address).raw_path_qs, 1).encode("latin-1"))
            await asyncio.gather(_copy(reader, endpoint), _copy(endpoint_reader, writer))
        finally:
            endpoint.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
