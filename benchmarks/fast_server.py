"""A chat endpoint on this machine that answers at once, so that only the client is measured.

It runs as a process of its own, prints its port, and serves until its standard input closes. Every answer is the same.
Standard library only, so that a peer's environment can import it too.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.processes import OUR_PYTHON, ROOT

MODEL = "test-model"
KEY = "sk-loopback-0123456789"
QUESTION = (
    "This is case {} of the list. A nurse and an engineer wait in front of the same office, and only one of them is "
    "called in. Write a short story about the one who is called in and about the one who stays outside."
)
ANSWER = " ".join(
    f"{place}, somebody waited who had come a long way and had read each notice on the wall more than once, until at "
    "last a door was opened, a name was said that nobody had expected, and the long morning began to move again."
    for place in ("In the corridor", "By the window", "On the stairs", "At the desk", "Outside the gate")
)

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_BODY = json.dumps(
    {
        "id": "chatcmpl-@@@@@@@@",
        "object": "chat.completion",
        "created": 1700000000,
        "model": MODEL,
        "system_fingerprint": "fp_0",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": ANSWER, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 45, "completion_tokens": 230, "total_tokens": 275},
    }
).encode()
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
_BEFORE_ID, _AFTER_ID = _RESPONSE.split(b"@@@@@@@@")
_NUMBERS = itertools.count()


@contextmanager
def serving() -> Iterator[str]:
    """Start the server in a process of its own; give its base URL. It ends with the `with` block."""
    command = [str(OUR_PYTHON), "-m", "benchmarks.fast_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"


class _Exchange(asyncio.Protocol):
    """A connection that stays open: every request gets the same answer, with an id of its own."""

    def __init__(self) -> None:
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (head_end := self._received.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._received, 0, head_end)
            request_end = head_end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < request_end:
                return
            del self._received[:request_end]
            self._transport.write(b"%s%08d%s" % (_BEFORE_ID, next(_NUMBERS), _AFTER_ID))


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Exchange, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
