"""The documentation as a product: a site that builds offline, links that lead somewhere, commands and code that run."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from typer.core import TyperCommand

import equipoise
from calling import all_commands, exit_code, root
from equipoise.probes import find_probes
from equipoise.settings import environment

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in this language."""
    return [body for name, body in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


# The site


class Links(HTMLParser):
    """What a page of the site names: anchors of its own, links, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        is_loaded = tag != "a" and values.get("rel", "stylesheet") in (
            "stylesheet",
            "icon",
            "preload",
        )
        for address in [values[name] for name in ("href", "src") if name in values]:
            (self.loaded if is_loaded else self.links).append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy of what it is made of, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "zensical.toml"):
        shutil.copy(ROOT / name, folder / name)
    known = {**environment(), "PYTHONPATH": str(folder / "src")}
    for words in (["docs/gather.py"], ["-m", "zensical", "build", "--strict"]):
        done = subprocess.run([sys.executable, *words], cwd=folder, env=known, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "site"


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 20
    broken = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (
                parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                broken.append(f"{page.relative_to(site)} -> {link}")
    assert broken == []


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = {address for page in site.rglob("*.html") for address in Links(page).loaded}
    assert [address for address in loaded if urlsplit(address).netloc] == []


def test_the_site_has_every_card_command_and_public_name(site: Path) -> None:
    assert {path.stem for path in (site / "probes").glob("*.html")} >= {*find_probes(), "index"}
    commands = (site / "commands.html").read_text(encoding="utf-8")
    assert [name for name in _commands() if f"<code>equipoise {name}</code>" not in commands] == []
    reference = Links(site / "reference.html").anchors
    # What a name is imported from is what mkdocstrings documents it as, and either leads there.
    assert [name for name in equipoise.__all__ if not any(anchor.endswith(f".{name}") for anchor in reference)] == []


def test_llms_txt_lists_every_page_with_what_it_is_about(site: Path) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    line = r"^- \[(.+?)\]\((\S+?)\.md\)(?:: (.+))?$"
    listed = re.findall(line, text, flags=re.MULTILINE)
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    assert {f"{name}.html" for _, name, _ in listed} >= pages - {"404.html"}
    assert text.startswith("# equipoise\n\n> Measure how gender-biased")
    described = [about for *_, about in listed if about]
    assert len(described) > len(listed) / 2


# Links of what is written by hand

REAL_SITES = {
    "aclanthology.org",
    "arxiv.org",
    "datasette.io",
    "docs.ray.io",
    "ideas.wharton.upenn.edu",
    "inspect.aisi.org.uk",
    "link.springer.com",
    "osf.io",
    "psycnet.apa.org",
    "semver.org",
    "sqlite.org",
    "www.bibb.de",
    "www.bloomberg.com",
}
"""Sites that exist; a link to any other is a mistake, or a site to be added here."""
PLACEHOLDERS = {"127.0.0.1:8000", "models.example.org", "router:8000"}
"""Hosts in examples of addresses that a reader replaces."""
WRITTEN = ["*.md", "*.cff", "*.toml", "*.yml", "*.yaml", "*.ipynb"]


def test_every_link_is_relative_or_leads_to_a_real_site() -> None:
    listed = subprocess.run(["git", "ls-files", *WRITTEN], cwd=ROOT, capture_output=True, text=True, check=True)
    # What the registry names is fetched and held against its hash.
    paths = [ROOT / name for name in listed.stdout.splitlines() if not name.endswith("assets/registry.toml")]
    assert len(paths) > 30
    named = {
        (path.name, host)
        for path in paths
        for host in re.findall(r"https?://([\w.:-]+)", path.read_text(encoding="utf-8"))
    }
    assert {(name, host) for name, host in named if host not in REAL_SITES | PLACEHOLDERS} == set()


def test_links_of_the_readme_lead_to_files_that_are_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", text, flags=re.MULTILINE))
    assert set(re.findall(r"\]\[([^\]]+)\]", text)) == set(named)
    targets = [*re.findall(r"\]\(([^)\s]+)\)", text), *named.values()]
    assert len(targets) > 10
    inside = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [path for path in inside if not (ROOT / path).exists()] == []


# Commands


def _commands() -> dict[str, TyperCommand]:
    """All commands, by the words that call them."""
    return {" ".join(words): command for words, command in all_commands(root())}


def written_commands() -> list[tuple[str, str]]:
    """Every command that a page shows, one to a line, without the comment and the backslashes at the ends."""
    found = []
    for page in PAGES:
        text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
        fenced = "\n".join(re.sub(r"^", "    ", body, flags=re.MULTILINE) for _, body in FENCE.findall(text))
        lines = re.findall(r"^ {4,}(?:\$ )?(equipoise [a-z].*)$", FENCE.sub("", text) + fenced, flags=re.MULTILINE)
        found += [(page.name, re.split(r"\s+#|\s*[|>&;]", line)[0].strip()) for line in lines]
    return found


WRITTEN_COMMANDS = sorted(set(written_commands()))


def test_the_pages_show_many_commands() -> None:
    assert len(WRITTEN_COMMANDS) > 50


@pytest.mark.parametrize(("page", "line"), WRITTEN_COMMANDS, ids=lambda value: str(value)[:60])
def test_a_command_of_the_pages_is_one(page: str, line: str) -> None:
    """Every option and value is accepted; that it does what it should is for other tests."""
    words = [word for word in shlex.split(line)[1:] if word not in ("…", "...")]
    commands = _commands()
    name = " ".join(words[:2])
    if name not in commands:
        name = words[0]
    assert name in commands, f"{page}: {line}"
    rest = words[len(name.split()) :]
    if "--help" not in rest:
        commands[name].make_context(name, rest)


TUTORIALS = [page for page in PAGES if blocks(page, "sh") and page.name != "gate.md"]
"""What gate.md shows is for a CI job."""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_the_commands_of_a_tutorial_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for body in blocks(page, "sh") for line in body.splitlines() if line.strip()]
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "equipoise", f"{page.name}: only equipoise is run here, not {line!r}"
        assert exit_code(monkeypatch, *words[1:]) == 0, line


# Code


def python_blocks() -> list[tuple[str, str]]:
    """Blocks of Python that a reader can copy; CONTRIBUTING's walk and own-prompts.md are run by test_docs.py."""
    pages = [page for page in PAGES if page.parent.name == "docs" and page.name != "own-prompts.md"]
    return [(page.name, body) for page in pages for body in blocks(page, "python")]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file such as the pages speak of."""
    path = tmp_path_factory.mktemp("example") / "run.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum", "hiring_an"], sample=40, out=path)
    return path


@pytest.mark.parametrize(("page", "code"), python_blocks(), ids=lambda value: str(value)[:40])
def test_python_in_the_docs_runs(
    page: str,
    code: str,
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(example, "run.equipoise")
    exec(compile(code, page, "exec"), {"__name__": "docs"})


# Notebooks


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "notebook"}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(codes) > 4
    for code in codes:
        *before, last = ast.parse(code).body
        exec(compile(ast.Module(before, []), path.name, "exec"), names)
        if isinstance(last, ast.Expr):  # what a notebook shows
            shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            show = getattr(shown, "_repr_html_", None) or getattr(shown, "_repr_svg_", None) or shown.__repr__
            assert show()
        else:
            exec(compile(ast.Module([last], []), path.name, "exec"), names)
