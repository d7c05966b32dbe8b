"""From a probe and its parameters to a table of prompts with stable ids."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from equipoise import assets
from equipoise.assets import ProgressCallback
from equipoise.authoring import Corpus, Items, Probe
from equipoise.errors import AssetUnavailable, BadParameter, ProbeError
from equipoise.measuring.calling import running
from equipoise.measuring.definition import check_definition, make_prompts
from equipoise.probes import get_probe
from equipoise.schema import ID, ITEM, ITEM_NUMBER, PROMPT, REPETITION, SYSTEM
from equipoise.settings import Settings

ITEMS_PER_BATCH = 50_000


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A probe with the value of every parameter and the corpus it asks about: all that a result depends on."""

    probe: Probe
    parameters: Mapping[str, Any]
    population: int
    """How many items there are to be drawn from."""
    corpus: str | None = None
    corpus_sha256: str | None = None
    judge: str | None = None
    """The model whose verdicts are used where the detector leaves an answer open; None: nobody's."""

    @property
    def repetitions(self) -> int:
        """Attempts per prompt."""
        return int(self.parameters["repeat"])

    @property
    def items(self) -> int:
        """How many items are drawn: as many as `sample` asks for, or all."""
        sample = self.parameters["sample"]
        return self.population if sample is None else int(sample) // self.probe.prompts_per_item

    @property
    def asked(self) -> str:
        """Which corpus is asked about and how often, in words: "corpus mottos, each prompt 8 times"."""
        often = f"each prompt {self.repetitions} times" if self.repetitions > 1 else "each prompt once"
        return f"corpus {self.corpus}, {often}" if self.corpus else often

    def describe(self) -> dict[str, Any]:
        """All that must be the same for two results, or parts of one, to be of the same measurement; plain values."""
        return {
            "probe": self.probe.name,
            "version": self.probe.version,
            "reading": self.probe.reading,
            "detector": self.probe.detector.title,
            "judge": self.judge,
            "corpus": self.corpus,
            "corpus_sha256": self.corpus_sha256,
            "equipoise": importlib.metadata.version("equipoise"),
            "parameters": {
                name: list(value) if isinstance(value, tuple) else value for name, value in self.parameters.items()
            },
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Setup):
    """The prompts of a probe with these parameters, made in batches so that millions need little memory."""

    drawn_from: Items = field(repr=False)
    """The population."""

    def __repr__(self) -> str:
        return f"Plan({self.probe.name} v{self.probe.version}, {self.items:,} {self.probe.unit}, {self.asked})"

    @property
    def setup(self) -> Setup:
        """The plan without its items: what a result keeps."""
        return Setup(
            probe=self.probe,
            parameters=self.parameters,
            population=self.population,
            corpus=self.corpus,
            corpus_sha256=self.corpus_sha256,
        )

    def batches(self, size: int | None = None, items: range | None = None) -> Iterator[pl.DataFrame]:
        """The prompts, or those of a range of items, whole items at a time: `id`, `item`, `prompt`, then covariates."""
        items, size = items or range(self.items), size or ITEMS_PER_BATCH
        hashes: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
        for start in range(items.start, items.stop, size):
            prompts = self.take(start, min(start + size, items.stop))
            hashes.append(prompts[ID].str.slice(0, 16).str.to_integer(base=16, dtype=pl.UInt64).to_numpy())
            yield prompts
        ids = np.sort(np.concatenate(hashes))
        repeated = ids[1:][ids[1:] == ids[:-1]]
        if len(repeated):
            raise ProbeError(
                f"Two prompts of {self.probe.name} have the same id ({repeated[0]:016x}…, {len(repeated)} in all): "
                "an item may not hold the same text for the same arm twice."
            )

    def take(self, start: int, end: int) -> pl.DataFrame:
        """The prompts of the items from one number to before another, or to the last; items count from 0."""
        prompts = self.make(start, end)
        return prompts.select(_make_ids(self.probe, prompts), ITEM, PROMPT, pl.exclude(ITEM, PROMPT))

    def make(self, start: int, end: int) -> pl.DataFrame:
        """The same without ids, which take longer than all else."""
        places = np.arange(start, min(end, self.items))
        return make_prompts(self.probe, self.drawn_from, places, self.parameters)

    def prompts(self) -> pl.DataFrame:
        """All prompts as one table."""
        return pl.concat(list(self.batches()))

    def attempts(self) -> pl.DataFrame:
        """All prompts once for each repetition, numbered from 1."""
        repetitions = pl.DataFrame({REPETITION: pl.Series(range(1, self.repetitions + 1), dtype=pl.Int64)})
        return repetitions.join(self.prompts(), how="cross").select(ID, REPETITION, pl.exclude(ID, REPETITION))


def list_differences(
    first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str] = ("one", "the other")
) -> list[str]:
    """What differs between two descriptions, also in their `parameters`, in words."""
    a, b = ({**described, **described.get("parameters", {}), "parameters": None} for described in (first, second))
    return [
        f"{key} is {a.get(key)!r:.70} in {names[0]} and {b.get(key)!r:.70} in {names[1]}"
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    ]


_tried: dict[tuple[int, str | None, str | None, str], Probe] = {}
"""Definitions that were tried, kept alive so that no other probe gets the id: each is tried once in a process."""


def plan(
    probe: str | Probe,
    *,
    reading: str | None = None,
    settings: Settings | None = None,
    on_download: ProgressCallback | None = None,
    **parameters: Any,
) -> Plan:
    """Plan a probe with these parameters. A corpus that is not on this machine is fetched.

    `reading` says how answers will be read, "careful" or "specified"; the prompts and their ids do not depend on it.
    The probe is tried on a few simulated answers, so that a mistake in it is found before a model is asked.
    """
    given = get_probe(probe)
    probe = given.read_by(reading)
    resolved = probe.resolve(parameters)
    with running(probe, "adapt"):
        probe = probe.with_parameters(resolved)
    name, digest, texts = resolved.get("corpus"), None, pl.DataFrame()
    if name is not None:
        corpus = next(corpus for corpus in probe.corpora if corpus.name == name)
        content = _read_corpus(probe, corpus, settings or Settings.load(), on_download)
        digest = hashlib.sha256(content).hexdigest()
        with running(probe, f"corpus {name!r}"):
            texts = corpus.read(content)
    with running(probe, "items"):
        everything = probe.items(resolved, texts)
        if not isinstance(everything, Items):
            raise TypeError(f"it must give Items, not {type(everything).__name__}")
    if not everything.size:
        raise BadParameter(f"With these parameters {probe.name} has nothing to ask about.")
    if resolved["sample"] is not None:
        per_item, most = probe.prompts_per_item, everything.size * probe.prompts_per_item
        if not 1 <= resolved["sample"] <= most:
            raise BadParameter(
                f"The 'sample' parameter of {probe.name} must be between 1 and {most:,} (or all). "
                f"Got {resolved['sample']} instead."
            )
        resolved["sample"] = -(-resolved["sample"] // per_item) * per_item
    planned = Plan(
        probe=probe,
        parameters=resolved,
        population=everything.size,
        drawn_from=everything,
        corpus=name,
        corpus_sha256=digest,
    )
    tried = (id(given), reading, digest, repr({**resolved, "sample": None, "repeat": 1}))
    if tried not in _tried:
        check_definition(probe, resolved, everything)
        _tried[tried] = given
    return planned


def resize(planned: Plan, items: int, repeat: int | None = None) -> Plan:
    """The plan with the first so many items of its population, each asked so often, or as often as before."""
    size = {"sample": items * planned.probe.prompts_per_item, "repeat": repeat or planned.repetitions}
    return replace(planned, parameters={**planned.parameters, **size})


def _make_ids(probe: Probe, prompts: pl.DataFrame) -> pl.Series:
    """Stable ids: a hash of probe, version, item, arm and text, so that nothing else can change them.

    The arm is there because one item of discrim-eval has one text for two genders.
    """
    arm = (probe.arms.column,) if probe.arms else ()
    parts = [pl.col(name).cast(pl.String) for name in (ITEM, *arm, PROMPT)]
    if SYSTEM in prompts.columns:
        parts.append(pl.col(SYSTEM).fill_null(""))
    contents = prompts.select(pl.concat_str(parts, separator="\0").cast(pl.Binary)).to_series()
    prefix = f"{probe.name}\0{probe.version}\0".encode()
    ids = [hashlib.blake2b(prefix + content, digest_size=10).hexdigest() for content in contents]
    return pl.Series(ID, ids, dtype=pl.String)


def number_items(prompts: pl.DataFrame, first: int) -> pl.Series:
    """For each prompt the number of its item in the plan. These prompts are of whole items, from the `first` on."""
    return (prompts[ITEM].rle_id().cast(pl.Int64) + first).alias(ITEM_NUMBER)


def _read_corpus(probe: Probe, corpus: Corpus, settings: Settings, on_download: ProgressCallback | None) -> bytes:
    if corpus.file is not None:
        return corpus.file.read_bytes()
    assert corpus.asset is not None
    try:
        return assets.locate(corpus.asset, settings, on_download).read_bytes()
    except AssetUnavailable as error:
        packaged = [other.name for other in probe.corpora if other.file is not None]
        alternatives = "".join(f" Or use the packaged corpus: --set {probe.name}.corpus={name}" for name in packaged)
        raise AssetUnavailable(f"{error}{alternatives}") from None
