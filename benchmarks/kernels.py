"""Results must not depend on the processor: `python -m benchmarks.kernels`, or `make kernels`.

NumPy multiplies matrices with OpenBLAS, which has a kernel for each family of processors. Sums are
added up in another order by each of them, and so differ in their last digits. This command scores
simulated models of every probe under each kernel that this processor supports. Estimates,
intervals, bounds, marks, comparisons and selection rates must be the same to six digits. It also
runs the tests of golden values under each kernel.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import equipoise
from equipoise.probes import find_probes
from equipoise.runs.suites import packaged_corpus

ROOT = Path(__file__).parents[1]
CONTRACTS = "tests/probes/test_contracts.py"
ITEMS = 120
DIGITS = 6
ROUNDING_ERROR = 1e-12
"""Numbers that are closer than this are the same, even if they are rounded differently."""
MAX_SHOWN = 100
"""How many differing values are printed."""


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel of OpenBLAS."""

    name: str
    """The value of OPENBLAS_CORETYPE that chooses it."""
    flags: frozenset[str]
    """The flags in /proc/cpuinfo of a processor that supports it."""
    aliases: tuple[str, ...] = ()
    """Other names that OpenBLAS may give to it."""


KERNELS = (
    # In a library for many processors, all of these names mean one kernel.
    Kernel(
        name="Prescott",
        flags=frozenset({"pni"}),
        aliases=("Katmai", "Coppermine", "Northwood", "Banias"),
    ),
    Kernel(name="Nehalem", flags=frozenset({"ssse3", "sse4_2"})),
    Kernel(name="Sandybridge", flags=frozenset({"avx"})),
    Kernel(name="Haswell", flags=frozenset({"avx2", "fma"})),
    Kernel(
        name="SkylakeX",
        flags=frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    ),
)
FUNCTIONS_THAT_NAME = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)
"""OpenBLAS has one of these functions, depending on how it was built. It names the kernel."""


def find_processor_flags() -> set[str]:
    """The flags of this processor; none if the system does not tell."""
    file = Path("/proc/cpuinfo")
    if not file.is_file():
        return set()
    for line in file.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return set(value.split())
    return set()


def find_kernel_in_use() -> str | None:
    """The kernel that OpenBLAS uses in this process; None if NumPy has no OpenBLAS."""
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        return None
    loaded = {line.split()[-1] for line in maps.read_text().splitlines() if "openblas" in line}
    for path in sorted(loaded):
        library = ctypes.CDLL(path)
        for name in FUNCTIONS_THAT_NAME:
            function = getattr(library, name, None)
            if function is not None:
                function.restype = ctypes.c_char_p
                return str(function().decode())
    return None


def score_models(probe: str, parameters: Mapping[str, Any]) -> dict[str, equipoise.Result]:
    """The results of three simulated models.

    One gives the answers of all reference models in turn, one does so and is asked twice, and one
    is unbiased. Some answers of each are missing, and some decide nothing.
    """
    planned = equipoise.plan(probe, **parameters)
    prompts = planned.prompts()
    stances = list(planned.probe.stances())
    answers = [
        list(planned.probe.simulate(prompts, stance, np.random.default_rng(number)))
        for number, stance in enumerate(stances)
    ]

    def mix(seed: int) -> list[str]:
        chosen = np.random.default_rng(seed).integers(len(stances), size=prompts.height)
        return [answers[stance][row] for row, stance in enumerate(chosen.tolist())]

    def score(texts: Sequence[str], repeat: int) -> equipoise.Result:
        ids = pl.concat([prompts.select("id")] * repeat)
        row = pl.int_range(pl.len())
        undecided = pl.when(row % 11 == 5).then(pl.lit("…")).otherwise(pl.col("answer"))
        table = ids.with_columns(pl.Series("answer", texts, dtype=pl.String))
        given = table.with_columns(undecided.alias("answer")).filter(row % 13 != 7)
        return equipoise.score(probe, given, **{**parameters, "repeat": repeat})

    return {
        "mixed": score(mix(1), 1),
        "repeated": score([*mix(1), *mix(2)], 2),
        "unbiased": score(answers[stances.index("unbiased")], 1),
    }


def make_sample() -> dict[str, Any]:
    """The results of simulated models of every probe: a value for each path.

    A path is, for example, `jobs_lum/mixed/metrics/stereotype_rate/low`.
    """
    sample: dict[str, Any] = {}
    for name, probe in find_probes().items():
        size = ITEMS * probe.prompts_per_item
        parameters: dict[str, Any] = {**packaged_corpus(probe)}
        everything = equipoise.plan(probe, **parameters, sample=None)
        available = everything.items * probe.prompts_per_item
        parameters["sample"] = min(size, available)
        results = score_models(name, parameters)
        for model, result in results.items():
            sample |= dict(flatten(result.to_dict(), f"{name}/{model}"))
        comparison = equipoise.compare(results["mixed"], results["unbiased"])
        sample |= dict(flatten(comparison.to_dict(), f"{name}/comparison"))
    return sample


def flatten(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The numbers and texts in a value of mappings and sequences, each with its path."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flatten(inner, f"{path}/{name}")
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from flatten(inner, f"{path}/{number}")
    else:
        yield path, value


def print_value(value: Any) -> str:
    """A number with six digits; anything else as it is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if abs(value) >= 1:
        return f"{value:.{DIGITS}g}"
    return f"{round(value, DIGITS) + 0.0:.{DIGITS}f}"


def are_same(first: Any, second: Any) -> bool:
    """Whether two values are printed in the same way, or differ by a rounding error only."""
    if print_value(first) == print_value(second):
        return True
    if not isinstance(first, float) or not isinstance(second, float):
        return False
    return abs(first - second) <= ROUNDING_ERROR * max(1.0, abs(first))


def list_differences(samples: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The values that are not the same under all kernels, each as a line."""
    lines = []
    first = next(iter(samples.values()))
    paths = {path for sample in samples.values() for path in sample}
    for path in sorted(paths):
        values = {name: sample.get(path, "missing") for name, sample in samples.items()}
        expected = first.get(path, "missing")
        if not all(are_same(expected, value) for value in values.values()):
            lines.append(f"{path}: {describe_values(values)}")
    return lines


def describe_values(values: Mapping[str, Any]) -> str:
    """The values under each kernel, as in "0.793 (Prescott), 0.787 (Haswell, SkylakeX)"."""
    kernels: dict[str, list[str]] = {}
    for kernel, value in values.items():
        kernels.setdefault(print_value(value), []).append(kernel)
    return ", ".join(f"{printed} ({', '.join(names)})" for printed, names in kernels.items())


def run_python(kernel: Kernel, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run Python under a kernel."""
    variables = {
        **os.environ,
        "COLUMNS": "400",  # pytest leaves out the reason of a failure that does not fit in a line
        "OPENBLAS_CORETYPE": kernel.name,
        "OPENBLAS_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def take_sample(kernel: Kernel) -> dict[str, Any]:
    """The sample under a kernel. It is an error if OpenBLAS does not use that kernel."""
    done = run_python(kernel, ["-m", "benchmarks.kernels", "--sample"])
    if done.returncode:
        raise SystemExit(f"The sample failed under {kernel.name}:\n{done.stderr}")
    written = json.loads(done.stdout)
    used = written["kernel"]
    if used not in (kernel.name, *kernel.aliases):
        raise SystemExit(f"OpenBLAS was told to use {kernel.name}, and uses {used}.")
    print(f"{kernel.name}: OpenBLAS uses {used}, {len(written['values']):,} values", flush=True)
    values: dict[str, Any] = written["values"]
    return values


def check_contracts(kernel: Kernel) -> list[str]:
    """Run the tests of golden values under a kernel; the tests that fail."""
    printed = ["--tb=line", "-rfE"]
    parallel = ["-n", "2", "--dist", "loadgroup"]
    options = [*printed, *parallel, "-p", "no:cacheprovider"]
    done = run_python(kernel, ["-m", "pytest", *options, CONTRACTS])
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failed:
        failed = [f"{CONTRACTS} could not be run: {done.stdout[-1000:]}{done.stderr[-1000:]}"]
    summary = lines[-1] if lines else "no output"
    print(f"{kernel.name}: {CONTRACTS}: {summary}", flush=True)
    return failed


def choose_kernels() -> list[Kernel]:
    """The kernels that this processor supports; says which are skipped."""
    flags = find_processor_flags()
    chosen = []
    for kernel in KERNELS:
        missing = sorted(kernel.flags - flags)
        if missing:
            print(f"{kernel.name}: skipped, this processor has no {', '.join(missing)}")
        else:
            chosen.append(kernel)
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all kernels; the exit code is 1 if anything differs or a contract test fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sample", action="store_true", help="print the values under one kernel")
    parser.add_argument("--no-contracts", action="store_true", help="run no tests of golden values")
    options = parser.parse_args(arguments)
    if options.sample:
        json.dump({"kernel": find_kernel_in_use(), "values": make_sample()}, sys.stdout)
        return 0
    if find_kernel_in_use() is None:
        print("NumPy does not use OpenBLAS on this machine, or the system does not tell: skipped.")
        return 0
    chosen = choose_kernels()
    samples = {kernel.name: take_sample(kernel) for kernel in chosen}
    different = list_differences(samples)
    failed = []
    if not options.no_contracts:
        for kernel in chosen:
            failed += [f"{kernel.name}: {line}" for line in check_contracts(kernel)]
    for line in [*different[:MAX_SHOWN], *failed]:
        print(line)
    if different or failed:
        print(f"{len(different)} values differ, {len(failed)} tests fail.")
        print("Results depend on the processor.")
        return 1
    print(f"The same {DIGITS} digits under {', '.join(samples)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
