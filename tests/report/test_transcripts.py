"""The page of transcripts in a real browser: it filters, searches, opens, obeys the keyboard, and text stays text."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.models.protocol import Reply
from equipoise.report.charts.drawing import COLOURS
from equipoise.report.text import reveal_invisible
from equipoise.report.transcripts import choose, render_transcripts, write_transcripts
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run
from equipoise.schema import Status, text_column
from report.answered import make_file
from report.browser import SHARED, Page, look_at, texts
from report.hostile import HOSTILE
from runs.fakes import create

pytestmark = pytest.mark.usefixtures("chromium")

COUNT = "document.getElementById('count').textContent"
OUTCOMES = texts("#list .outcome")
EXCERPTS = texts("#list .excerpt")
FOCUSED = """document.activeElement.id ||
    [...document.querySelectorAll('#list > li')].indexOf(document.activeElement.closest('li'))"""
NAMES = """[...document.querySelectorAll('input, select, button')].filter(each =>
    !each.labels?.[0]?.textContent.trim() && !each.textContent.trim()).map(each => each.outerHTML)"""
KEYS = {
    "Enter": (13, "\r"),
    "/": (191, "/"),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
}
PAGE_NUMBER = "document.getElementById('page').textContent"
FOUND = "[...(CSS.highlights.get('found') || [])].map(range => range.toString())"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_file(tmp_path_factory.mktemp("transcripts") / "run.equipoise")


@pytest.fixture(scope="module")
def html(path: Path) -> Path:
    out = path.with_name("t.html")
    assert write_transcripts(path, out) == (136, 136)
    return out


def use(html: Path, *steps: Any) -> list[Any]:
    """What the steps give, scripts and coroutines, on the opened page, which did nothing that a page may not do."""

    async def visit(page: Page) -> list[Any]:
        activity = await page.open(html)
        seen = [await (page.evaluate(step) if isinstance(step, str) else step(page)) for step in steps]
        assert activity.problems == activity.dialogs == []
        assert activity.requests == [html.as_uri()]
        return [value for value in seen if value is not None]

    return SHARED.use(visit)


def choose_option(label: str, value: str) -> str:
    """Choose the option that begins so, as a user finds it: by the label of the control."""
    return f"""(() => {{
        const select = [...document.querySelectorAll('label')].find(each => each.textContent === {label!r}).control;
        select.value = [...select.options].find(option => option.text.split(' (')[0] === {value!r}).value;
        select.dispatchEvent(new Event('change'));
    }})()"""


AFTER_THE_SEARCH = """
new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 0)), 150))
"""
"""The page waits for the next letter before it searches. Its timers end in order, however slow it is."""


async def settle(page: Page) -> None:
    """Wait for what the page does after an event."""
    await page.evaluate(AFTER_THE_SEARCH)


def type_text(text: str) -> Callable[[Page], Awaitable[None]]:
    async def type_it(page: Page) -> None:
        await page.call("Input.insertText", text=text)
        await settle(page)

    return type_it


def press(*keys: str) -> Callable[[Page], Awaitable[None]]:
    async def press_them(page: Page) -> None:
        for key, kind in itertools.product(keys, ("keyDown", "keyUp")):
            code, text = KEYS[key]
            await page.call("Input.dispatchKeyEvent", type=kind, key=key, text=text, windowsVirtualKeyCode=code)

    return press_them


def test_filters_count_what_they_would_leave_and_filter(html: Path) -> None:
    table = Run.open(html.with_name("run.equipoise")).transcripts("jobs_lum")
    counts = dict(table.filter(table["status"] != "http_error").group_by("label").len().iter_rows())
    failed = table.filter(status="http_error")
    number = failed.height
    labels = {"female": counts["female"], "male": counts["male"], "no answer": number, "undetected": counts[None]}
    assert use(html, COUNT, choose_option("probe", "jobs_lum"), COUNT, texts("[name=label] option")) == [
        "136 answers",
        "120 of 136 answers",
        ["any", *(f"{name} ({count})" for name, count in labels.items())],
    ]
    steps = (choose_option("probe", "jobs_lum"), choose_option("label", "no answer"), COUNT, OUTCOMES, EXCERPTS)
    narrowed = (choose_option("repetition", "2"), COUNT, "decodeURIComponent(location.hash)")
    reset = ("document.getElementById('reset').click()", COUNT, "document.activeElement.id")
    assert use(html, *steps, *narrowed, *reset) == [
        *(f"{number} of 136 answers", ["no answer"] * number, ["503 <b>overloaded</b>"] * number),
        *(f"{failed.filter(repetition=2).height} of 136 answers", "#.probe=jobs_lum&.label=no+answer&.repetition=2"),
        *("136 answers", "search"),
    ]


def test_a_view_can_be_opened_again_by_its_address_and_a_foreign_address_changes_nothing(html: Path) -> None:
    addresses = ("#search=TULIPS&in=answers&.probe=hiring_an", "#.probe=<b>&page=-9&x", "#page=3")
    goes = [(f"void (location.hash = {address!r})", settle, COUNT) for address in addresses]
    found = Run.open(html.with_name("run.equipoise")).transcripts("hiring_an")
    matching = found["answer"].str.contains("Tulips").sum()
    seen = use(html, *itertools.chain(*goes), PAGE_NUMBER)
    assert seen == [f"{matching} of 136 answers", "136 answers", "136 answers", "101–136 of 136"]


def test_search_finds_and_highlights_in_answers_and_prompts(html: Path) -> None:
    typed = (press("/"), "document.activeElement.id", type_text("number 17 AND"), COUNT)
    opened = ("document.querySelector('#list summary').click()", settle, FOUND)
    other = ("document.getElementById('search').select()", type_text("no such text anywhere"), COUNT, OUTCOMES)
    assert use(html, *typed, *opened, *other) == [
        *("search", "1 of 136 answers", ["number 17 and"] * 2),
        *("0 of 136 answers", []),
    ]


def test_an_opened_answer_shows_what_was_read_as_the_detector_read_it(path: Path, html: Path) -> None:
    opened = (choose_option("probe", "jobs_lum"), "document.getElementById('toggle').click()", settle)
    words = "[...document.querySelectorAll('.reply mark')].map(m => [m.className, m.textContent])"
    parts = (".reply > bdi", ".prompt > bdi", ".reply .unseen", ".reply .reasoning", "#legend mark", ".given")
    marked, excerpts, shown, prompts, unseen, reasoning, legend, given = use(
        html, *opened, words, EXCERPTS, *map(texts, parts)
    )
    first = choose(Run.open(path), ["jobs_lum"])[0].table.head(50)
    answers = first["answer"].drop_nulls().to_list()
    detector = Run.open(path).setup("jobs_lum").probe.detector
    assert shown == [reveal_invisible(answer) for answer in answers]
    assert prompts == first["prompt"].to_list()
    numbers = {group: place for place, group in enumerate(detector.patterns)}
    assert marked == [
        [f"group-{numbers[span.group]}", answer[span.start : span.end]]
        for answer in answers
        for span in detector.spans([answer])[0]
    ]
    assert (set(unseen), set(reasoning)) == ({"U+200B"}, {"<think>He or she?</think>"})
    assert not any("think" in excerpt for excerpt in excerpts)
    assert legend == list(detector.patterns)
    for facts, row in zip(given, first.iter_rows(named=True), strict=True):
        for fact in (f"occupation{row['occupation']}", f"prompt id{row['id']}", f"repetition{row['repetition']}"):
            assert fact in facts


def test_everything_works_with_the_keyboard(html: Path) -> None:
    is_open = "[...document.querySelectorAll('#list details')].map(d => d.open).indexOf(true)"
    down = (press("ArrowDown", "ArrowDown"), FOCUSED, press("Enter"), settle, is_open)
    up = (press("ArrowUp", "ArrowUp"), FOCUSED)
    pages = (press("ArrowDown", "ArrowRight"), PAGE_NUMBER, FOCUSED, press("ArrowLeft", "ArrowLeft"), PAGE_NUMBER)
    assert use(html, *down, *up, *pages) == [1, 1, "search", "51–100 of 136", 0, "1–50 of 136"]


def test_the_page_fits_and_every_control_has_a_name(html: Path) -> None:
    scripts = {
        "names": NAMES,
        "background": "getComputedStyle(document.body).backgroundColor",
        "headings": "[...document.querySelectorAll('h1, h2, h3')].map(heading => +heading.tagName[1])",
        "landmarks": "['header', 'main', 'footer', 'form'].map(name => document.querySelectorAll(name).length)",
    }
    for dark, look in enumerate(look_at([(html, 1280, False), (html, 390, True)], scripts)):
        shade = COLOURS["page"][dark].lstrip("#")
        assert look.activity.problems == look.activity.dialogs == []
        assert look.overflow == [False, False]
        assert look.values == {
            "names": [],
            "background": f"rgb{tuple(bytes.fromhex(shade))}",
            "headings": [1, 2],
            "landmarks": [1, 1, 1, 1],
        }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every prompt, covariate, answer and detail is a hostile string."""
    path = tmp_path_factory.mktemp("hostile") / "run.equipoise"
    with create(path, equipoise.plan("jobs_lum", sample=len(HOSTILE))) as file:
        file.store(
            Attempt(
                probe=pending.probe,
                prompt_id=pending.prompt_id,
                repetition=1,
                reply=Reply(status=Status.OK, answer=string)
                if number % 2
                else Reply(status=Status.MALFORMED, detail=string),
            )
            for number, (pending, string) in enumerate(zip(file.pending(), HOSTILE, strict=True))
        )
    return path


@pytest.mark.fault("S1", "S2")
def test_hostile_text_is_only_text(hostile: Path) -> None:
    run = Run.open(hostile)
    run.model = "</title></script><script>alert(1)</script>"
    (chosen,) = choose(run)
    strings = [string if number % 2 else "x" for number, string in enumerate(HOSTILE)]
    table = chosen.table.with_columns(text_column("occupation", strings), text_column("prompt", strings))
    out = hostile.with_name("t.html")
    out.write_text(render_transcripts(run, [replace(chosen, table=table)]), encoding="utf-8")

    opened = ("document.getElementById('toggle').click()", settle)
    parts = tuple(map(texts, (".reply > bdi", ".detail > bdi", ".prompt > bdi")))
    pages = len(HOSTILE) // 50 + 1
    elements = "[...new Set([...document.querySelectorAll('body *')].map(each => each.tagName))]"
    *seen, tags, scripts, address = use(
        out,
        *(*opened, *parts, "document.getElementById('next').click()") * pages,
        *(elements, "document.scripts.length", "location.href.split('#')[0]"),
    )
    answers, details, prompts = ([text for page in seen[part::3] for text in page] for part in range(3))
    assert address == out.as_uri()
    assert answers == [reveal_invisible(string) for string in HOSTILE[1::2]]
    assert details == [reveal_invisible(string[:300]) for string in HOSTILE[::2] if string]
    assert prompts == [reveal_invisible(string) for string in strings]
    assert not set(tags) & {"IMG", "SVG", "B", "STYLE", "LINK", "IFRAME", "OBJECT", "VIDEO", "BASE"}
    assert scripts == 1  # its own; the data were removed when they were read


def test_a_page_with_a_part_of_the_answers_says_so(path: Path, tmp_path: Path) -> None:
    write_transcripts(path, tmp_path / "t.html", most=40)
    (look,) = look_at([(tmp_path / "t.html", 1280, False)], {"count": COUNT, "note": texts(".banner")})
    assert look.values["count"] == "40 answers"
    assert look.values["note"][0].startswith("96 of 136 answers are left out")
    assert "--probe, --where, --search" in look.values["note"][0]
