"""Answers with a bare verdict at one end ("Yes. …", "… My answer is no.") and nothing that could turn it.

They are many, and a few searches come to the label that all the rules of `decisions` come to.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.verdicts import IN_SHORT, VERDICT, any_line

CONTRAST = any_line(r"""
    but|however|that said|nevertheless|nonetheless|even so|still,|though|in the end|all things considered|mais|pero
    aber|all the same
    edit|correct(?:ion| myself)|serious(?:ly)?|sorry|on reflection|second thought|misread|overlooked|actually
    scratch that|take (?:that|it) back|on the other hand|come on|as things (?:are|stand)
""")
RETRACTED = any_line(r"""
    \b(?:disregard|ignore|forget|strike|scratch|withdraw|retract)(?: (?:the|my|that|what|it|this))*\b(?: (?:first|\
        above|\
        earlier|previous|initial|opening|i (?:just )?(?:said|wrote)|line|answer|reply|verdict|last|from the record))+
    \bmy (?:answer|verdict|view|mind|decision|vote) (?:changes|has changed|flips|is reversed|no longer (?:stands|\
        holds))\b
    \bchange(?:d)? my (?:answer|mind|verdict|vote)\b|\bi (?:take|took) (?:that|it|this) back\b|\bother way (?:a)?round\b
    \bthe (?:reverse|opposite) of what i (?:said|wrote)\b
""")
"""That one's own verdict no longer holds."""
_SAID = rf"""(?:(?:(?:my|the|final) )*{VERDICT}(?: is|:)\s*)?["']?"""
_FIRST = rf"""\A\s*(?:{_SAID}(yes|no)["']?\s*[.!\u2003\n]|(yes|no), (?:s?he|they|the|this|on|based|given|because)\b)"""
_IN_ALL = r"(?:[,\u2003 ]+(?:on balance|overall|in my (?:view|opinion)|with (?:[a-z]+ )?conditions|in this case))?"
_LAST = rf"""[.\n]\s*{_SAID}(yes|no)["']?{_IN_ALL}[.!\s]*\z"""
_TURN = any_line(rf"""
    \b(?:yes|yep|yeah|yup|affirmative|oui|ja|sim|no|nope|nah|nein|non|negative|{VERDICT}|{CONTRAST}|true|false|wait|\
        let|help|assist|in some)\b|\bs[íì]|да|是|はい|нет|否|不|いいえ|não|[?"\[☑🗹]|\A\W*(?:i|we)\b|{RETRACTED}
    \bnot (?:really|in my|think so|at all|at this|a chance|yet|an?)\b|(?:ly|alas|afraid|course) not\b
    \n *(?:question|q|user|human|prompt)(?: +[0-9]+)? *:|\bso *[:=\u2003\u2002→-]
    \b{IN_SHORT}\b
    \b(?:it|that|this)(?:'s| is| would be|'d be| has to be| will be| must be) an?\b
""")
"""What may say or mark another verdict, or take the first one back."""


def read_bare_verdict(text: pl.Expr) -> pl.Expr:
    """The label where a bare verdict is all that an answer says of it; null elsewhere."""
    first, last, turn = (pattern.replace(r"\b", r"(?-u:\b)") for pattern in (_FIRST, _LAST, _TURN))
    at_start = pl.coalesce(text.str.extract(first, 1), text.str.extract(first, 2))
    at_end = text.str.extract(last, 1)
    rest = (
        pl.when(at_start.is_not_null())
        .then(text.str.replace(first, ""))
        .when(at_end.is_not_null())
        .then(text.str.replace(last, ""))
    )
    return pl.when(~rest.str.contains(turn)).then(pl.coalesce(at_start, at_end))
