"""Gathers the pages of the documentation site in build/pages: `python docs/gather.py`; `make docs` builds them.

What stands elsewhere in the repository is brought in, not copied by hand: the cards of the probes, the changelog, and
every command with its options as the command line knows them. Links between the pages are set to where they are then.
`llms.txt` lists all pages for programs that read.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup

import equipoise
from equipoise.cli import app
from equipoise.probes import find_probes

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "pages"
ELSEWHERE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
"""Pages that stand beside docs/, and what they are called in the site."""
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def gather() -> None:
    """Write all pages of the site."""
    shutil.rmtree(PAGES, ignore_errors=True)
    (PAGES / "probes").mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "images", PAGES / "images")
    for source in sorted((ROOT / "docs").glob("*.md")):
        write(source.name, move_links(source.read_text(encoding="utf-8"), "docs"))
    for source, name in ELSEWHERE.items():
        write(name, move_links((ROOT / source).read_text(encoding="utf-8"), "."))
    for name, probe in find_probes().items():
        if folder := probe.card.folder:
            text = (folder / "card.md").read_text(encoding="utf-8")
            write(f"probes/{name}.md", re.sub(r"\A# (.*)", rf"# `{name}`: \1", text))
    write("probes/index.md", list_probes())
    write("commands.md", describe_commands())
    write("reference.md", list_names())
    write("llms.txt", list_pages())


def write(name: str, text: str) -> None:
    """Write one page."""
    (PAGES / name).write_text(text, encoding="utf-8")


def move_links(text: str, folder: str) -> str:
    """The text with its links set to pages of the site; where there is no such page, the path in the repository."""

    def move(link: re.Match[str]) -> str:
        words, target = link.groups()
        path, mark, anchor = target.partition("#")
        if not path or "://" in target or target.startswith("mailto:"):
            return link[0]
        place = (ROOT / folder / path).resolve().relative_to(ROOT).as_posix()
        if place in ELSEWHERE:
            return f"[{words}]({ELSEWHERE[place]}{mark}{anchor})"
        if re.fullmatch(r"docs/[\w-]+\.md", place):
            return f"[{words}]({place.removeprefix('docs/')}{mark}{anchor})"
        return f"{words} (`{place}`)"

    return LINK.sub(move, text)


def list_probes() -> str:
    """The page that leads to the cards."""
    rows = [
        f"| [`{name}`]({name}.md) | {probe.card.use_case} | {probe.card.summary} |"
        for name, probe in find_probes().items()
        if probe.card.folder
    ]
    return "\n".join(["# Probes", "", "| probe | use case | what it does |", "| --- | --- | --- |", *rows, ""])


def describe_commands() -> str:
    """The page of all commands, from the command line itself."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    parts = ["# Commands", "", root.help or "", "", root.epilog or ""]
    for path, command in walk("equipoise", root):
        context = command.context_class(command, info_name=path)
        parts += ["", f"## `{path}`", "", escape(command.help or ""), "", "```text"]
        parts += [f"{path} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
        parts += describe_options(command, path)
    return "\n".join([*parts, ""])


def walk(path: str, group: TyperGroup) -> list[tuple[str, TyperCommand]]:
    """All commands below a group, with the words that call them."""
    found: list[tuple[str, TyperCommand]] = []
    for name, command in group.commands.items():
        here = f"{path} {name}"
        if isinstance(command, TyperGroup):
            found += walk(here, command)
        elif isinstance(command, TyperCommand):
            found.append((here, command))
    return found


def describe_options(command: TyperCommand, path: str) -> list[str]:
    """A table of the arguments and options of a command."""
    context = command.context_class(command, info_name=path)
    records = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
    if not records:
        return []
    rows = [f"| `{names.replace('|', chr(92) + '|')}` | {escape(text)} |" for names, text in records]
    return ["| option | what it does |", "| --- | --- |", *rows]


def escape(text: str) -> str:
    """Text of the help as Markdown: what looks like markup is none."""
    text = re.sub(r"\s*\n(?!\n)\s*", " ", text.replace("\b", "").strip())
    return re.sub(r"([|<>*_\[\]])", r"\\\1", text)


def list_names() -> str:
    """The page on the public names; mkdocstrings fills in what they are."""
    names = [name for name in equipoise.__all__ if not name.startswith("_")]
    return "\n".join(["# Reference", "", *(f"::: equipoise.{name}\n" for name in names)])


def list_pages() -> str:
    """What `llms.txt` holds: what this is, and every page of the site with its title and its first sentence."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    pages = [PAGES / "index.md", *(page for page in sorted(PAGES.rglob("*.md")) if page != PAGES / "index.md")]
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", "", "## Pages", ""]
    for page in pages:
        title, _, rest = page.read_text(encoding="utf-8").partition("\n")
        about = first_sentence(rest)
        lines.append(f"- [{title.lstrip('# ')}]({page.relative_to(PAGES)}){f': {about}' if about else ''}")
    return "\n".join([*lines, ""])


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph of a page, without links; nothing if it begins otherwise."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    plain = LINK.sub(r"\1", paragraph)
    return re.split(r"(?<=[.:]) ", plain)[0].rstrip(":") if re.match(r"[A-Za-z`]", plain) else ""


if __name__ == "__main__":
    gather()
