"""The program of the child process: serves a GGUF file on 127.0.0.1.

It is run by its path, so that it imports nothing else of equipoise, and it ends when its parent does.

    stdin    one line with the options, the key among them; then nothing, until the parent closes it or dies
    stdout   one line with the address, once the model is loaded
    stderr   the log of llama.cpp
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

BATCH_TOKENS = 256
"""Tokens computed at a time. The server looks at new requests only between two batches."""
LOG_WARNINGS = 2


def main() -> None:
    """Serve until the parent is gone."""
    options = json.loads(sys.stdin.readline())
    watcher = threading.Thread(target=_exit_when_stdin_closes, daemon=True)
    watcher.start()
    try:
        server = _start_server(**options)
    except (RuntimeError, OSError) as error:
        sys.exit(str(error))
    # llama.cpp installs its own handler for SIGTERM, which would not end the process.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    watcher.join()


def _start_server(*, weights: str, context: int, slots: int, threads: int, key: str) -> Any:
    """Load the weights and listen on a free port of 127.0.0.1."""
    # Threads that wait for each other sleep. On shared cores those that spin take several times the CPU.
    os.putenv("GOMP_SPINCOUNT", "0")
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = weights
    params.model_alias = {Path(weights).name}
    params.offline = True
    params.api_keys = [key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.verbosity = LOG_WARNINGS
    params.endpoint_slots = False
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # No caches: an answer must not depend on earlier prompts, and memory must not grow with them.
    params.cache_prompt = params.cache_idle_slots = False
    params.cache_ram_mib = 0
    # Drawn from the model's own distribution, as by the large endpoints, unless a request says otherwise.
    sampling = params.sampling
    sampling.temp = sampling.top_p = 1.0
    sampling.top_k, sampling.min_p = 0, 0.0
    # Marked as set by the user; otherwise recommendations in the GGUF file would replace them.
    for name in ("TEMP", "TOP_P", "TOP_K", "MIN_P"):
        sampling.user_sampling_config |= llama.common_params_sampling_config[f"COMMON_PARAMS_SAMPLING_CONFIG_{name}"]
    return llama.Server(params)


def _exit_when_stdin_closes() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
