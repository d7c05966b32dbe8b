"""A chat endpoint on a plain socket, which sends exactly the bytes that a test wants."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

Piece = bytes | float
"""Bytes to send, or seconds to wait before the next."""
Respond = Callable[[str], Iterable[Piece]]
"""What to send for a prompt."""


def completion(text: str) -> bytes:
    """The body of a chat completion."""
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()


def with_length(body: bytes) -> bytes:
    """A whole response with this body."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunked(body: bytes) -> bytes:
    """The same in chunks."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"


class RawServer:
    """A server with a thread for each connection, used with `with`."""

    def __init__(self, respond: Respond) -> None:
        self.connections = 0
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self._respond = respond
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._sockets:
            connection.close()
        for thread in self._threads:
            thread.join(5)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._sockets.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while prompt := self._read_prompt(stream):
                    self.prompts.append(prompt)
                    for piece in self._respond(prompt):
                        if isinstance(piece, float):
                            time.sleep(piece)
                        else:
                            connection.sendall(piece)
        except (OSError, ValueError):
            return  # the client has closed it

    def _read_prompt(self, stream: object) -> str | None:
        length = 0
        while line := stream.readline().strip():  # type: ignore[attr-defined]
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            return None
        body = json.loads(stream.read(length))  # type: ignore[attr-defined]
        self.bodies.append(body)
        prompt = body["messages"][-1]["content"]
        assert isinstance(prompt, str)
        return prompt
