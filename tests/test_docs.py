"""The documents are true: generated tables, the names of the architecture, and the walk that writes a probe."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import equipoise
from calling import Command, output
from equipoise.runs.run import Run
from equipoise.settings import environment
from installing import installed, register
from serving.faulty import FaultyServer

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`((?:\w+\.)+\w+)`", ARCHITECTURE)) - {"pyproject.toml"})


def test_generated_tables_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert len(generate.PAGES) > 5
    for page in generate.PAGES:
        text = page.read_text(encoding="utf-8")
        assert generate.fill_blocks(text) == text, f"{page.name} is not up to date: make generate"
    for path, schema in generate.schemas().items():
        assert path.read_text(encoding="utf-8") == schema, f"{path.name} is not up to date: make generate"
    assert set((ROOT / "docs" / "schemas").iterdir()) < set(generate.schemas())


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_the_architecture_exist(name: str) -> None:
    assert resolve(name) is not None


def test_the_architecture_names_many_modules_and_functions() -> None:
    assert len(NAMES) > 30


def resolve(name: str) -> object:
    """The module, class or function of this name under `equipoise`."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(["equipoise", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"There is no equipoise.{name}")


def test_the_walk_names_every_step() -> None:
    steps = re.findall(r"^\| (\w+) \| .*\| `", ARCHITECTURE, flags=re.MULTILINE)
    assert {"plan", "ask", "evaluate", "summarise", "measure", "mark"} < set(steps)


SOURCE = ROOT / "src" / "equipoise"
PROBES = SOURCE / "probes"
PACKAGES = sorted(
    str(path.parent.relative_to(SOURCE))
    for path in SOURCE.rglob("__init__.py")
    if PROBES not in path.parent.parents and path.parent != SOURCE
)


@pytest.mark.parametrize("folder", PACKAGES)
def test_every_package_says_what_belongs_there(folder: str) -> None:
    text = (SOURCE / folder / "__init__.py").read_text(encoding="utf-8")
    assert re.match(r'"""[A-Z`].{40,}', text, flags=re.DOTALL), f"{folder} says nothing"


def test_few_modules_stand_beside_the_packages() -> None:
    loose = {path.stem for path in SOURCE.glob("*.py")}
    small = {"errors", "own_prompts", "safe_text", "schema", "settings"}
    assert loose == {"__init__", "__main__", *small}


def test_the_python_of_the_readme_runs_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert '"openai/gpt-4o-mini"' in block
    equipoise.audit("simulated/unbiased", probes=["jobs_lum"], out="large.equipoise")
    answers = dict.fromkeys(equipoise.plan("hiring_an", sample=20).prompts()["id"], "You are hired.")
    exec(block.replace("openai/gpt-4o-mini", "simulated/stereotyping"), {"answers": answers})
    assert Path("stereotypes.svg").exists()


def test_the_readme_shows_what_the_command_prints(command: Command) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ((line, shown),) = re.findall(r"^```sh\n(.*?)\n```\n\n```text\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert shown in output(command(*line.split()[1:]))


PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.md"),
    *SOURCE.glob("probes/*/card.md"),
]


@pytest.mark.parametrize("word", ["founding page", "nasty", " named model"])
def test_pages_use_no_words_that_only_their_authors_know(word: str) -> None:
    assert len(PAGES) > 20
    using = [page.name for page in PAGES if word in page.read_text(encoding="utf-8")]
    assert using == []


def test_prompts_of_your_own_are_measured_and_opened_again_as_the_page_says(
    tmp_path: Path,
    command: Command,
) -> None:
    text = (ROOT / "docs" / "own-prompts.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(block, names)
    assert {"raises.equipoise", "raises.html", "raises.csv"} == {path.name for path in tmp_path.iterdir()}
    assert not equipoise.gate(names["run"], max={"difference": 0.1}).passed  # type: ignore[arg-type]
    assert "D raises difference is 1.000 (0.754 to 1.000)" in output(command("show", "raises.equipoise"))


def test_prompts_of_your_own_are_asked_by_the_commands_of_the_page(
    tmp_path: Path,
    command: Command,
) -> None:
    text = (ROOT / "docs" / "own-prompts.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^`([\w.]+)`\n\n```\w+\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    lines = re.findall(r"^\$ equipoise (.*)$", text, flags=re.MULTILINE)
    with FaultyServer(lambda prompt, _nth: "Yes." if " his " in prompt or " him " in prompt else "No.") as server:
        for line in lines:
            words = line.replace("openai/gpt-4o-mini", f"custom/test --base-url {server.url}").split()
            done = command(*words)
            assert done.code in ((7, 8) if words[0] == "gate" else (0,)), done.err
        assert server.total == 2 + 2 * 100
    assert (tmp_path / "raises.html").exists()


# Writing a probe, as CONTRIBUTING.md says


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the walk in a folder of their own, installed as `pip install` would register them."""
    folder = tmp_path_factory.mktemp("hobbies")
    files = re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    assert len(files) == 5
    for name, content in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    register(folder, project["name"], project["entry-points"]["equipoise.probes"])
    return folder


def test_the_probe_of_the_walk_keeps_its_promises(package: Path, tmp_path: Path) -> None:
    """In a process of its own, as an author would check it."""
    variables = {**environment(), "PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "equipoise.testing", "hobbies"]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok  reference models" in done.stdout


def test_the_probe_of_the_walk_runs(package: Path, tmp_path: Path, command: Command) -> None:
    with FaultyServer(lambda prompt, nth: "He rides." if "racing" in prompt else "She rides.") as server:
        where = (
            "custom/test-model",
            "--base-url",
            server.url,
            "--probe",
            "hobbies",
            "--out",
            "run.equipoise",
        )
        with installed(package):
            assert "hobbies stereotype_rate is" in output(command("run", *where))
            assert Run.open(tmp_path / "run.equipoise").counts["ok"] == 12  # type: ignore[index]
            assert '"masculine_rate"' in output(command("show", "run.equipoise", "--json"))
            output(command("report", "run.equipoise"))
            assert "hobbies" in output(command("probes"))
    assert "Characters by hobby" in (tmp_path / "report.html").read_text(encoding="utf-8")
    gone = command("show", "run.equipoise")
    assert gone.code == 6
    assert "'hobbies', which is not installed" in gone.err
