"""Is a run what it was when it was stored, and were its prompts those that its probes plan?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from equipoise.authoring import Probe
from equipoise.errors import AssetUnavailable, EquipoiseError, IntegrityError
from equipoise.measuring.plan import plan
from equipoise.runs.run import Run
from equipoise.runs.setup import are_prompts_of, known_probes


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What was recomputed and fits, what could not be recomputed here, and what does not fit."""

    digest: str
    """SHA-256 of the content of the run."""
    fitting: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def verify_run(path: str | Path, *, probes: Iterable[Probe] = ()) -> Verification:
    """Recompute every digest of a run file, and plan its prompts again.

    IntegrityError, with the first part that was changed, if the file is not what was stored. Prompts that differ from
    those of the probe, and corpora with another hash, are in `problems`; what is not installed here is `unchecked`.
    """
    given = list(probes)
    run = Run.open(path, probes=given)
    prompts = sum(planned.prompts for planned in run.planned.values())
    fitting = [f"settings, {prompts:,} prompts and {run.ended:,} ended attempts are those that were stored"]
    same, unchecked, problems = [], [], []
    installed = known_probes(run.settings.spec, given)
    for name, planned in run.planned.items():
        if name not in installed or installed[name].version != planned.version:
            unchecked.append(f"the prompts of {name}: version {planned.version} of this probe is not installed")
            continue
        if installed[name].own and not any(probe.name == name for probe in given):
            fitting.append(f"the prompts of {name} are the user's own: {planned.prompts:,}, as they were stored")
            continue
        try:
            same.append(_verify_prompts(run, name))
        except AssetUnavailable as error:
            unchecked.append(f"the prompts of {name}: {error}")
        except EquipoiseError as error:
            problems.append(f"the prompts of {name}: {error}")
    if same:
        fitting.append(f"the prompts are those of {', '.join(same)}")
    return Verification(
        digest=run.provenance.digest, fitting=tuple(fitting), unchecked=tuple(unchecked), problems=tuple(problems)
    )


def _verify_prompts(run: Run, name: str) -> str:
    """The probe with its version and corpus, whose prompts these are; IntegrityError if they are not."""
    setup = run.setup(name)
    planned = plan(setup.probe, **setup.parameters)
    if planned.setup.corpus_sha256 != setup.corpus_sha256:
        raise IntegrityError(
            f"the corpus {setup.corpus} had the SHA-256 {setup.corpus_sha256} when it was asked about, and has "
            f"{planned.setup.corpus_sha256} here"
        )
    if not are_prompts_of(planned, run.prompt_batches(name)):
        raise IntegrityError(f"they are not those that version {setup.probe.version} asks with these parameters")
    corpus = f" on {setup.corpus}" if setup.corpus_sha256 else ""
    return f"{name} version {setup.probe.version}{corpus}"
