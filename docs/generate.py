"""Fills the generated blocks of README.md and docs/: `python docs/generate.py`; with `--check`, only says what differs.

A block stands between `<!-- generated: NAME -->` and `<!-- end -->`. What can be listed (probes, bands, public names)
is generated, so that adding a probe touches no document by hand.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from output_shapes import SHAPES, output_schema

import equipoise
from equipoise.authoring import Probe
from equipoise.cli.config import config_schema
from equipoise.measuring.clusters import FEW_CLUSTERS
from equipoise.measuring.plan import plan
from equipoise.probes import find_probes
from equipoise.probes.labelled import describe_accuracy
from equipoise.report.text import plural
from equipoise.runs.suites import SUITES, find_readable, find_suites, packaged_corpus
from equipoise.schema import READINGS

ROOT = Path(__file__).resolve().parents[1]
CARDS = sorted((ROOT / "src" / "equipoise" / "probes").glob("*/card.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *CARDS]
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def packaged_probes() -> dict[str, Probe]:
    """The probes of this package, whatever plug-ins are installed."""
    home = files("equipoise.probes")
    return {name: probe for name, probe in find_probes().items() if probe.card.folder == home / name}


def table(head: str, rows: list[str]) -> str:
    """A table of Markdown."""
    return "\n".join([f"| {head} |", f"|{' --- |' * len(head.split(' | '))}", *rows])


def probes_table() -> str:
    """One row per probe: its name, use case, and what its card says it does."""
    rows = [
        f"| `{name}` | {probe.card.use_case.lower()} | {probe.card.summary} |"
        for name, probe in packaged_probes().items()
    ]
    return table("probe | use case | what it does", rows)


def bands_table() -> str:
    """One row per marked metric: the limits of its marks and how it is read."""
    rows = []
    for name, probe in packaged_probes().items():
        for metric, bands in probe.marked_metrics().items():
            limits = " | ".join(f"{limit:g}" for limit in bands.limits)
            rows.append(f"| `{name}` | `{metric}` | {limits} | {bands.centre:g} |")
    return table("probe | metric | A up to | B up to | C up to | distance from", rows)


def clusters_table() -> str:
    """One row per probe that names clusters, with how many groups there are of each in the packaged texts."""
    rows = []
    for name, probe in packaged_probes().items():
        packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
        prompts = plan(probe, **({"corpus": packaged[0]} if packaged else {})).prompts()
        groups = [f"{prompts[column].n_unique():,} {plural(column)}" for column in probe.clusters]
        few = [plural(column) for column in probe.clusters if prompts[column].n_unique() < FEW_CLUSTERS]
        rows.append(f"| `{name}` | {', '.join(groups) or '–'} | {', '.join(few) or '–'} |")
    return table(f"probe | clusters | fewer than {FEW_CLUSTERS}", rows)


def suites_table() -> str:
    """One row per probe: what each suite asks. The corpora are the packaged ones, so that nothing is fetched."""
    sized = [suite for suite in SUITES.values() if not suite.asks]
    rows = []
    for name, probe in packaged_probes().items():
        cells = []
        for suite in sized:
            parameters: dict[str, Any] = suite.parameters(probe)
            repetitions = parameters.get("repeat", 1)
            if suite.name in ("ci", "full"):
                items = f"{parameters['sample'] // probe.prompts_per_item:,}"
            else:
                default = bool(probe.corpora) and probe.sample is None and suite.name == "standard"
                items = "all" if default else f"{plan(probe, **parameters | packaged_corpus(probe)).items:,}"
            cells.append(f"{items} × {repetitions}" if repetitions > 1 else items)
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    head = [f"| probe | {' | '.join(f'{suite.name}, items' for suite in sized)} |", f"| --- |{' ---: |' * len(sized)}"]
    return "\n".join([*head, *rows])


def use_suites_table() -> str:
    """One row per use case: the probes that its suite asks."""
    rows = []
    for use in (suite.use for suite in find_suites().values() if suite.use):
        names = [f"`{name}`" for name, probe in packaged_probes().items() if use in probe.uses]
        rows.append(f"| `--suite {use}` | {', '.join(names)} |")
    return table("suite | probes, in standard size", rows)


def limits_table() -> str:
    """One row per probe: the limit of its answers, and whether they can be read from probabilities."""
    readable = find_readable([*packaged_probes().values()], "standard", {})
    rows = []
    for name, probe in packaged_probes().items():
        otherwise = "no: asked for answers" if probe.opening is None else "with other parameters (see its card)"
        rows.append(f"| `{name}` | {probe.max_tokens} | {'yes' if name in readable else otherwise} |")
    return table("probe | tokens | `--probabilities`", rows)


def public_names() -> str:
    """One row per public name: what the first sentence of its documentation says."""
    rows = []
    for name in equipoise.__all__:
        summary = (inspect.getdoc(getattr(equipoise, name)) or "").partition("\n\n")[0].replace("\n", " ")
        rows.append(f"| `equipoise.{name}` | {summary.replace('|', chr(92) + '|')} |")
    return table("name | what", rows)


def reading_errors(probe: Probe) -> str:
    """How often each reading of a probe was wrong on real answers."""
    readings = READINGS if probe.specified else READINGS[:1]
    return "\n".join(f"- {describe_accuracy(probe.read_by(reading))}" for reading in readings)


BLOCKS: dict[str, Callable[[], str]] = {
    "probes": probes_table,
    "bands": bands_table,
    "limits": limits_table,
    "api": public_names,
    "clusters": clusters_table,
    "suites": suites_table,
    "use_suites": use_suites_table,
    **{f"errors_{name}": partial(reading_errors, probe) for name, probe in packaged_probes().items()},
}


def fill_blocks(text: str) -> str:
    """The text with every generated block filled anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block[2]]()}\n{block[4]}", text)


def schemas() -> dict[Path, str]:
    """The JSON Schemas of `equipoise.toml` and of what `--json` prints, by their files."""
    contents = {ROOT / "docs" / "equipoise.schema.json": config_schema()}
    for kind in SHAPES:
        contents[ROOT / "docs" / "schemas" / f"{kind.replace('/', '-')}.json"] = output_schema(kind)
    texts = {}
    for path, schema in contents.items():
        texts[path] = json.dumps(dedent_descriptions(schema), indent=1, ensure_ascii=False) + "\n"
    return texts


def dedent_descriptions(schema: Any) -> Any:
    """The same schema with descriptions as Python 3.13 stores docstrings: without their indentation."""
    if isinstance(schema, list):
        return [dedent_descriptions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    dedented = {key: dedent_descriptions(value) for key, value in schema.items()}
    if isinstance(dedented.get("description"), str):
        dedented["description"] = inspect.cleandoc(dedented["description"])
    return dedented


def main() -> int:
    """Fill all pages, or with --check list those that differ."""
    check, status = "--check" in sys.argv[1:], 0
    pages = {page: fill_blocks(page.read_text(encoding="utf-8")) for page in PAGES}
    for path, text in (pages | schemas()).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            status = int(check)
            sys.stdout.write(f"{path.relative_to(ROOT)}: {'is not up to date' if check else 'filled'}\n")
            if not check:
                path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
