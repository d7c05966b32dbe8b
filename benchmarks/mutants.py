"""Mutants: copies of a module with one small change that a test should notice.

Changes are found in the syntax tree and made in the text, so that a mutant differs from its
module in one place and the difference can be shown as a line.
"""

from __future__ import annotations

import ast
import bisect
import hashlib
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"}
COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
PAIRS_OF_NAMES = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("nanmin", "nanmax"),
    ("argmin", "argmax"),
    ("min_horizontal", "max_horizontal"),
    ("any", "all"),
    ("any_horizontal", "all_horizontal"),
    ("floor", "ceil"),
    ("first", "last"),
    ("head", "tail"),
    ("sin", "cos"),
    ("isnan", "isfinite"),
    ("is_null", "is_not_null"),
    ("startswith", "endswith"),
    ("starts_with", "ends_with"),
)
SWAPPED_NAMES = dict(PAIRS_OF_NAMES) | {second: first for first, second in PAIRS_OF_NAMES}
SMALL_NUMBER = 1e-3
"""A number below this is a tolerance: a tenth more of it changes nothing that anyone could see."""
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_comment"}
"""Parts of the syntax tree that are not mutated."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True, order=True)
class Change:
    """A piece of a text, given by the offsets of its characters, and what replaces it."""

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of a module."""

    path: str
    """The path of the module in the repository, with slashes."""
    kind: str
    """The kind of change: one of the keys of FINDERS."""
    change: Change
    first_line: int
    """The first line of the statement that is changed; of a compound statement, only its head."""
    last_line: int
    function: str | None
    """The name of the innermost function around the change; None if it is only run on import."""
    bound_names: tuple[str, ...] = ()
    """The names that the statement gives a value to, if it is only run on import."""
    text: str
    """The text of the module without the change."""

    @cached_property
    def mutated_text(self) -> str:
        """The text of the module with the change."""
        before = self.text[: self.change.start]
        after = self.text[self.change.end :]
        return before + self.change.replacement + after

    @cached_property
    def key(self) -> str:
        """A name for this change of this text, to find its outcome again."""
        content = f"{self.path}\0{self.mutated_text}".encode()
        return hashlib.sha256(content).hexdigest()[:24]

    @cached_property
    def line(self) -> int:
        """The number of the first line that differs."""
        return self.text.count("\n", 0, self.change.start) + 1

    def is_another_program(self) -> bool:
        """Whether the changed text can be read as Python and is not the same program."""
        try:
            mutated = ast.parse(self.mutated_text)
        except SyntaxError:
            return False
        return ast.dump(mutated) != ast.dump(ast.parse(self.text))

    @cached_property
    def original_lines(self) -> str:
        """The lines that differ, as they are in the module, from the first character."""
        return _take_lines(self.text, self.change.start, self.change.end)

    @cached_property
    def mutated_lines(self) -> str:
        """The same lines with the change."""
        end = self.change.start + len(self.change.replacement)
        return _take_lines(self.mutated_text, self.change.start, end)


def _take_lines(text: str, start: int, end: int) -> str:
    """The whole lines around a piece of a text."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    if last < 0:
        last = len(text)
    return text[first:last].strip()


class Source:
    """The text of a module, its tokens, and the offsets of the nodes of its syntax tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.line_starts = [0]
        for line in self.lines:
            self.line_starts.append(self.line_starts[-1] + len(line))
        self.tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in (tokenize.OP, tokenize.NAME)
        ]
        self.token_starts = []
        for token in self.tokens:
            row, column = token.start
            self.token_starts.append(self.line_starts[row - 1] + column)

    def offset(self, line: int, byte: int) -> int:
        """The offset of a place that the syntax tree gives as a line and a number of bytes."""
        encoded = self.lines[line - 1].encode()
        return self.line_starts[line - 1] + len(encoded[:byte].decode())

    def start(self, node: ast.expr | ast.stmt) -> int:
        """The offset at which a node starts."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        """The offset at which a node ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def find_operator(self, left: ast.expr, right: ast.expr) -> tuple[int, int]:
        """The start and the end of the operator between two operands."""
        end_of_left = self.end(left)
        start_of_right = self.start(right)
        place = bisect.bisect_left(self.token_starts, end_of_left)
        while self.tokens[place].string == ")":
            place += 1
        first = self.token_starts[place]
        last = first
        for place_of_word in range(place, min(place + 2, len(self.tokens))):
            word = self.tokens[place_of_word].string
            start = self.token_starts[place_of_word]
            if start >= start_of_right or word == "(":
                break
            last = start + len(word)
        return first, last


def is_number(node: ast.expr) -> bool:
    """Whether a node is a number as it is written in the source."""
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def change_arithmetic(node: ast.AST, source: Source) -> Iterator[Change]:
    """Replace an arithmetic operator by its opposite, or leave out a number that is added."""
    if isinstance(node, ast.AugAssign):
        start, end = source.find_operator(node.target, node.value)
        replacement = ARITHMETIC.get(source.text[start : end - 1])
        if replacement is not None:
            yield Change(start=start, end=end, replacement=f"{replacement}=")
    if not isinstance(node, ast.BinOp):
        return
    start, end = source.find_operator(node.left, node.right)
    replacement = ARITHMETIC.get(source.text[start:end])
    if replacement is not None:
        yield Change(start=start, end=end, replacement=replacement)
    if not isinstance(node.op, (ast.Add, ast.Sub)):
        return
    if is_number(node.right):
        end_of_left = len(source.text[:start].rstrip())
        yield Change(start=end_of_left, end=source.end(node), replacement="")
    elif is_number(node.left):
        right = source.text[end:]
        start_of_right = end + len(right) - len(right.lstrip())
        yield Change(start=source.start(node), end=start_of_right, replacement="")


def change_comparison(node: ast.AST, source: Source) -> Iterator[Change]:
    """Replace a comparison: < by <=, == by !=, and so on."""
    if not isinstance(node, ast.Compare):
        return
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        start, end = source.find_operator(left, right)
        yield Change(start=start, end=end, replacement=COMPARISONS[type(operator)])
        left = right


def change_boolean(node: ast.AST, source: Source) -> Iterator[Change]:
    """Exchange "and" and "or", & and |, True and False; leave out a "not"."""
    if isinstance(node, ast.BoolOp):
        start, end = source.find_operator(node.values[0], node.values[1])
        swapped = "or" if isinstance(node.op, ast.And) else "and"
        yield Change(start=start, end=end, replacement=swapped)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        start, end = source.find_operator(node.left, node.right)
        swapped = "|" if isinstance(node.op, ast.BitAnd) else "&"
        yield Change(start=start, end=end, replacement=swapped)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        start = source.start(node)
        operator = "not" if isinstance(node.op, ast.Not) else "~"
        yield Change(start=start, end=start + len(operator), replacement="")
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        opposite = str(not node.value)
        yield Change(start=source.start(node), end=source.end(node), replacement=opposite)


def change_number(node: ast.AST, source: Source) -> Iterator[Change]:
    """Replace a number: 1 by 0 and 2, 0.5 by 0.0 and 0.55; so also indices, axes and degrees."""
    if not isinstance(node, ast.Constant):
        return
    replacements: list[float] = []
    if type(node.value) is int:
        replacements.append(node.value + 1)
        if node.value > 0:
            replacements.append(node.value - 1)
    if type(node.value) is float:
        replacements.append(0.0 if node.value else 1.0)
        if node.value >= SMALL_NUMBER:
            replacements.append(float(f"{1.1 * node.value:.12g}"))
    for value in replacements:
        yield Change(start=source.start(node), end=source.end(node), replacement=repr(value))


def change_sign(node: ast.AST, source: Source) -> Iterator[Change]:
    """Leave out a minus sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        start = source.start(node)
        yield Change(start=start, end=start + 1, replacement="")


def change_axis(node: ast.AST, source: Source) -> Iterator[Change]:
    """Replace the axis of a computation: the first by the second, any other by the first."""
    if isinstance(node, ast.keyword) and node.arg == "axis":
        written = source.text[source.start(node.value) : source.end(node.value)]
        replacement = "1" if written == "0" else "0"
        start = source.start(node.value)
        yield Change(start=start, end=source.end(node.value), replacement=replacement)


def change_function(node: ast.AST, source: Source) -> Iterator[Change]:
    """Call the opposite function: max for min, any for all."""
    if not isinstance(node, ast.Call):
        return
    for part in ast.walk(node.func):
        if isinstance(part, ast.Name):
            name = part.id
        elif isinstance(part, ast.Attribute):
            name = part.attr
        else:
            return
        if name in SWAPPED_NAMES:
            end = source.end(part)
            yield Change(start=end - len(name), end=end, replacement=SWAPPED_NAMES[name])


def change_condition(node: ast.AST, source: Source) -> Iterator[Change]:
    """Negate a condition."""
    conditions: list[ast.expr] = []
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        conditions.append(node.test)
    if isinstance(node, ast.comprehension):
        conditions.extend(node.ifs)
    for condition in conditions:
        start = source.start(condition)
        end = source.end(condition)
        yield Change(start=start, end=end, replacement=f"not ({source.text[start:end]})")


def change_statement(node: ast.AST, source: Source) -> Iterator[Change]:
    """Replace a statement that only has an effect by `pass`: a call, `x += 1`, `break`, `raise`."""
    dropped = isinstance(node, (ast.AugAssign, ast.Continue, ast.Break, ast.Raise, ast.Delete))
    if isinstance(node, ast.Expr):
        dropped = isinstance(node.value, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom))
    if isinstance(node, ast.Assign):
        dropped = isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    if dropped:
        assert isinstance(node, ast.stmt)
        yield Change(start=source.start(node), end=source.end(node), replacement="pass")


def change_return(node: ast.AST, source: Source) -> Iterator[Change]:
    """Return None."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    if isinstance(node.value, ast.Constant) and node.value.value is None:
        return
    yield Change(start=source.start(node), end=source.end(node), replacement="return None")


def change_string(node: ast.AST, source: Source) -> Iterator[Change]:
    """Replace a string that is compared, returned or assigned: a status, a label, a name."""
    values: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        values = [node.left, *node.comparators]
    if isinstance(node, (ast.Return, ast.Assign, ast.AnnAssign)) and node.value is not None:
        values = [node.value]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            replacement = repr(f"X{value.value}")
            yield Change(start=source.start(value), end=source.end(value), replacement=replacement)


FINDERS: dict[str, Callable[[ast.AST, Source], Iterator[Change]]] = {
    "arithmetic": change_arithmetic,
    "comparison": change_comparison,
    "boolean": change_boolean,
    "number": change_number,
    "sign": change_sign,
    "axis": change_axis,
    "function": change_function,
    "condition": change_condition,
    "statement": change_statement,
    "return": change_return,
    "string": change_string,
}
"""What finds each kind of change."""


def find_mutants(path: str, text: str, kinds: Iterable[str]) -> list[Mutant]:
    """All mutants of a module that have one of these kinds of change, in the order of the text.

    Some are not valid Python, or the same program as before: `is_another_program` finds them.
    """
    source = Source(text)
    mutants: dict[Change, Mutant] = {}
    for node, statement, function in _walk(ast.parse(text)):
        for kind in kinds:
            for change in FINDERS[kind](node, source):
                mutant = Mutant(
                    path=path,
                    kind=kind,
                    change=change,
                    first_line=statement.lineno,
                    last_line=last_line_of_head(statement),
                    function=function,
                    bound_names=names_bound_by(statement) if function is None else (),
                    text=text,
                )
                mutants.setdefault(change, mutant)
    in_order = sorted(mutants)
    return [mutants[change] for change in in_order]


Place = tuple[ast.AST, ast.stmt, str | None]
"""A node, the innermost statement around it, and the name of the innermost function."""


def _walk(module: ast.Module) -> Iterator[Place]:
    """All nodes of a module that may be changed."""
    for statement in module.body:
        yield from _walk_below(statement, statement, None)


def _walk_below(node: ast.AST, statement: ast.stmt, function: str | None) -> Iterator[Place]:
    """A node and all nodes below it that may be changed."""
    if isinstance(node, ast.stmt):
        statement = node
    if _is_left_alone(node):
        return
    yield node, statement, function
    if isinstance(node, ast.Raise):
        return  # a message: nobody's figures depend on it
    for name, value in ast.iter_fields(node):
        if name in SKIPPED_FIELDS:
            continue
        inner = function
        if isinstance(node, FUNCTIONS) and name == "body":
            inner = node.name
        children = value if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, ast.AST):
                yield from _walk_below(child, statement, inner)


def _is_left_alone(node: ast.AST) -> bool:
    """Whether a node is text for people, an assertion, or only for type checkers."""
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return True  # of zip: it is an assertion
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
        return node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Assign) and names_bound_by(node) == ("__all__",)


def last_line_of_head(statement: ast.stmt) -> int:
    """The last line of a statement; of a compound statement, the last line before its body."""
    body = getattr(statement, "body", None)
    if not body:
        assert statement.end_lineno is not None
        return statement.end_lineno
    first: ast.stmt = body[0]
    return max(statement.lineno, first.lineno - 1)


def names_bound_by(statement: ast.stmt) -> tuple[str, ...]:
    """The names of variables, functions and classes that a statement gives a value to."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return (statement.name,)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    names: list[str] = []
    for target in targets:
        names += [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
    return tuple(names)
