"""The program of the child process: serves a GGUF file on 127.0.0.1.

It is run by its path, so that it imports nothing else of equipoise, and it ends when its parent does.

    stdin    one line with the key; then nothing, until the parent closes it or dies
    stdout   one line with the address, once the model is loaded
    stderr   the log of llama.cpp
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import signal
import sys
import threading
from typing import Any

BATCH_TOKENS = 256
"""Tokens computed at a time. The server looks at new requests only between two batches."""
LOG_WARNINGS = 2


def main() -> None:
    """Serve until the parent is gone."""
    arguments = _parse_arguments()
    key = sys.stdin.readline().strip()
    _die_with_parent()
    watcher = threading.Thread(target=_exit_when_stdin_closes, daemon=True)
    watcher.start()
    try:
        server = _start_server(arguments, key)
    except (RuntimeError, OSError) as error:
        sys.exit(str(error))
    # llama.cpp installs its own handler for SIGTERM, which would not end the process.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    watcher.join()


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("weights")
    parser.add_argument("--alias", required=True)
    for number in ("--context", "--slots", "--threads"):
        parser.add_argument(number, type=int, required=True)
    return parser.parse_args()


def _start_server(arguments: argparse.Namespace, key: str) -> Any:
    """Load the weights and listen on a free port of 127.0.0.1."""
    # Threads that wait for each other sleep. On shared cores those that spin take several times the CPU.
    os.putenv("GOMP_SPINCOUNT", "0")
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = arguments.weights
    params.model_alias = {arguments.alias}
    params.offline = True
    params.api_keys = [key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.verbosity = LOG_WARNINGS
    params.endpoint_slots = False
    params.n_parallel = arguments.slots
    params.n_ctx = arguments.slots * arguments.context
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = arguments.threads
    # No caches: an answer must not depend on earlier prompts, and memory must not grow with them.
    params.cache_prompt = params.cache_idle_slots = False
    params.cache_ram_mib = 0
    _set_default_sampling(params.sampling, llama.common_params_sampling_config)
    return llama.Server(params)


def _set_default_sampling(sampling: Any, config: Any) -> None:
    """Draw from the model's own distribution, as the large endpoints do, unless a request says otherwise."""
    sampling.temp = sampling.top_p = 1.0
    sampling.top_k, sampling.min_p = 0, 0.0
    # Marked as set by the user; otherwise recommendations in the GGUF file would replace them.
    for name in ("TEMP", "TOP_P", "TOP_K", "MIN_P"):
        sampling.user_sampling_config |= config[f"COMMON_PARAMS_SAMPLING_CONFIG_{name}"]


def _exit_when_stdin_closes() -> None:
    sys.stdin.read()
    os._exit(0)


def _die_with_parent() -> None:
    """Ask Linux to kill this process with its parent, also while the model loads and no Python thread runs."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    main()
