"""The verdict of a gate for people and machines: lines for the terminal, JUnit XML, a Markdown summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from rich.text import Text

from equipoise.gating import Check, Gate
from equipoise.report.terminal import printable

SUITE = "equipoise gate"


def in_a_line(text: str) -> str:
    """Foreign text on one line, with what could steer a terminal made visible."""
    return printable(text).replace("\n", "\\n")


def check_lines(gate: Gate) -> Iterator[Text]:
    """A line a check: PASS or FAIL, what, by which rule, what was found and what is allowed."""
    rows = [tuple(map(in_a_line, _words(check))) for check in gate.checks]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for check, (what, rule, found, limit) in zip(gate.checks, rows, strict=True):
        line = Text("PASS", style="green") if check.passed else Text("FAIL", style="bold red")
        yield line.append(
            f"  {what:{widths[0]}}  {rule:{widths[1]}}  {found}; allowed: {limit}", style="not bold default"
        )


def headline(gate: Gate) -> str:
    """The verdict in a sentence."""
    broken, all_ = len(gate.failed), len(gate.checks)
    return f"{broken} of {all_} checks failed" if broken else f"all {all_} checks passed"


def junit(gate: Gate) -> bytes:
    """JUnit XML as CI servers read it: a test case a check."""
    root = ET.Element("testsuites")
    counts = {"tests": str(len(gate.checks)), "failures": str(len(gate.failed)), "errors": "0", "skipped": "0"}
    suite = ET.SubElement(root, "testsuite", {"name": SUITE, **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in (("model", gate.model), ("file", gate.file)):
        ET.SubElement(properties, "property", name=name, value=in_a_line(value))
    for check in gate.checks:
        what, rule, found, limit = map(in_a_line, _words(check))
        case = ET.SubElement(suite, "testcase", classname=SUITE, name=f"{what} {rule}", time="0")
        if check.passed:
            ET.SubElement(case, "system-out").text = f"{found}; allowed: {limit}"
        else:
            ET.SubElement(case, "failure", message=f"{found}; allowed: {limit}", type=rule)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def markdown(gate: Gate) -> str:
    """A summary for a pull request or a job's page."""
    lines = [
        f"### {SUITE}: {headline(gate)}",
        "",
        f"Model {_code(gate.model)}, run {_code(gate.file)}",
        "",
        "| | what | rule | found | allowed |",
        "| --- | --- | --- | --- | --- |",
    ]
    for check in gate.checks:
        what, rule, found, limit = _words(check)
        word = "✅ PASS" if check.passed else "❌ **FAIL**"
        lines.append(f"| {word} | {_code(what)} | {_code(rule)} | {_inert(found)} | {_inert(limit)} |")
    lines += ["", *(f"Note: {_inert(text)}" for text in gate.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _words(check: Check) -> tuple[str, str, str, str]:
    return check.what, check.rule, check.found, check.limit


def _code(text: str) -> str:
    """Text as code. In a code element no renderer looks for mentions, links or emphasis."""
    if re.fullmatch(r"[\w ./-]*\w", text, flags=re.ASCII):
        return f"`{text}`"
    return f"<code>{_inert(text)}</code>"


def _inert(text: str) -> str:
    """Text in which nothing can be markup: every other character is written as its number."""
    special = r"[^\w ,.()%+–-]|_|(?<!\d)\.|\.(?!\d)"
    return re.sub(special, lambda found: f"&#{ord(found[0])};", in_a_line(text))
