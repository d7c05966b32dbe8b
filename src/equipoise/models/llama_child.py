"""The child process that serves a GGUF file on loopback.

It is run by its path, so that it loads nothing else of equipoise, and it ends when its parent does.

    stdin    a line with the key; then nothing, until the parent closes it or dies
    stdout   a line with the address, once the model is loaded
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

BATCH = 256
"""Tokens that are computed at a time: between two batches the server looks at what else is asked of it."""
WARNINGS = 2


def main() -> None:
    """Serve until the parent is gone."""
    given = _arguments()
    key = sys.stdin.readline().strip()
    _die_with_parent()
    watcher = threading.Thread(target=_end_with_stdin, daemon=True)
    watcher.start()
    try:
        server = _server(given, key)
    except RuntimeError as problem:
        sys.exit(str(problem))
    # llama.cpp took the signals for itself, and would end without ending the process.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    watcher.join()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("weights")
    parser.add_argument("--alias", required=True)
    for number in ("--context", "--slots", "--threads"):
        parser.add_argument(number, type=int, required=True)
    return parser.parse_args()


def _server(given: argparse.Namespace, key: str) -> Any:
    """Load the weights and listen on a free port of 127.0.0.1."""
    # Threads that wait for each other spin for a moment, then sleep. Never spinning is 1.5 times slower on free cores;
    # spinning as long as the default is several times slower on shared ones (measured on two cores).
    os.putenv("GOMP_SPINCOUNT", "20000")
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = given.weights
    params.model_alias = {given.alias}
    params.offline = True
    params.api_keys = [key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.verbosity = WARNINGS
    params.endpoint_slots = False
    params.endpoint_metrics = True
    params.n_parallel = given.slots
    params.n_ctx = given.slots * given.context
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given.threads
    # An answer depends on its prompt, not on the ones before it; and memory does not grow with them.
    params.cache_prompt = params.cache_idle_slots = False
    params.cache_ram_mib = 0
    _sample_plainly(params.sampling, llama.common_params_sampling_config)
    return llama.Server(params)


def _sample_plainly(sampling: Any, config: Any) -> None:
    """Draw from the model's own distribution, as the big endpoints do, where a request says nothing else."""
    sampling.temp = sampling.top_p = 1.0
    sampling.top_k, sampling.min_p = 0, 0.0
    # Otherwise the file's own recommendations would take their place.
    for name in ("TEMP", "TOP_P", "TOP_K", "MIN_P"):
        sampling.user_sampling_config |= config[f"COMMON_PARAMS_SAMPLING_CONFIG_{name}"]


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def _die_with_parent() -> None:
    """Linux only: also while the model is being loaded, when no thread of Python runs."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    main()
