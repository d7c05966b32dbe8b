"""The probes, one folder each. They are discovered: nothing lists them.

A folder here with a `probe.py`, or an entry point `equipoise.probes` of another package, is a probe. What several
probes share belongs to `authoring`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import threading
import warnings
from collections.abc import Iterable
from concurrent.futures import Future
from functools import cache

from equipoise.authoring import Probe
from equipoise.errors import InputError, UnknownName

ENTRY_POINTS = "equipoise.probes"
SECONDS_TO_LOAD = 20
"""For the import of a plug-in. One that takes longer is left out: it would block every command."""


class PluginWarning(UserWarning):
    """A probe of another package cannot be used."""


@cache
def find_probes() -> dict[str, Probe]:
    """All probes by name: the packaged ones, then those of other packages.

    A plug-in that cannot be loaded, is no probe, or has a name that is taken is left out, with a warning that names it.
    """
    folders = importlib.resources.files(__name__).iterdir()
    packaged = sorted(folder.name for folder in folders if folder.is_dir() and (folder / "probe.py").is_file())
    probes = {name: importlib.import_module(f"{__name__}.{name}.probe").PROBE for name in packaged}
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        source = f"{entry.value} ({entry.dist.name if entry.dist else 'an unknown package'})"
        try:
            probe = _load(entry)
        except (Exception, SystemExit) as error:  # whatever another package does, the other probes go on
            _warn(source, f"it cannot be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(probe, Probe):
            _warn(source, f"it is not a Probe but a {type(probe).__name__}")
        elif probe.name in probes:
            _warn(source, f"there is already a probe called {probe.name!r}")
        else:
            probes[probe.name] = probe
    return probes


def get_probe(name: str | Probe) -> Probe:
    """The probe of this name. A probe value is returned as it is, installed or not."""
    if isinstance(name, Probe):
        if name.own and name.name in find_probes():
            raise InputError(f"A probe is called {name.name!r} already. Give your own prompts another name.")
        return name
    try:
        return find_probes()[name]
    except (KeyError, TypeError):
        raise UnknownName("probe", str(name), find_probes(), "All probes: equipoise probes") from None


def choose_probes(wanted: str | Probe | Iterable[str | Probe] | None) -> list[Probe]:
    """The probes that were asked for, each once; all installed ones if none was named."""
    if isinstance(wanted, str | Probe):
        wanted = [wanted]
    chosen: dict[str, Probe] = {}
    for probe in [get_probe(name) for name in (find_probes() if wanted is None else wanted)]:
        if chosen.setdefault(probe.name, probe) != probe:
            raise InputError(f"Two different probes are called {probe.name!r}. Give one of them another name.")
    return list(chosen.values())


def _load(entry: importlib.metadata.EntryPoint) -> object:
    """What an entry point names; TimeoutError if its import hangs."""
    loaded: Future[object] = Future()

    def load() -> None:
        try:
            loaded.set_result(entry.load())
        except BaseException as error:
            loaded.set_exception(error)

    threading.Thread(target=load, daemon=True).start()
    try:
        return loaded.result(timeout=SECONDS_TO_LOAD)
    except TimeoutError:
        raise TimeoutError(f"its import took more than {SECONDS_TO_LOAD} seconds") from None


def _warn(source: str, reason: str) -> None:
    warnings.warn(f"The probe {source} is left out: {reason}.", PluginWarning, stacklevel=3)
