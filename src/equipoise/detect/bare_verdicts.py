"""Answers with a bare verdict at one end ("Yes. …", "… My answer is no.") and nothing that could turn it.

They are many, and a few searches come to the label that all the rules of `decisions` come to. So do they where the
first word answers something else: "Yes, there are risks. I recommend denying the request."
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.rules import ascii_boundaries
from equipoise.detect.verdicts import IN_SHORT, NOUN, TURNING_DOWN, VERDICT, any_line, inflect, inflect_ing

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
_GOES_ON = r"(?:s?he|they|the|this|on|based|given|because)\b"
_FIRST = rf"""\A\s*(?:{_SAID}(?P<alone>yes|no)["']?\s*[.!\u2003\n]|(?P<first>yes|no), {_GOES_ON})"""
_IN_ALL = r"(?:[,\u2003 ]+(?:on balance|overall|in my (?:view|opinion)|with (?:[a-z]+ )?conditions|in this case))?"
_LAST = rf"""[.\n]\s*{_SAID}(?P<last>yes|no)["']?{_IN_ALL}[.!\s]*\z"""
_TURN = any_line(rf"""
    \b(?:yes|yep|yeah|yup|affirmative|oui|ja|sim|no|nope|nah|nein|non|negative|{VERDICT}|{CONTRAST}|true|false|wait|\
        let|help|assist|in some)\b|\bs[íì]|да|是|はい|нет|否|不|いいえ|não|[?"\[☑🗹]|\A\W*(?:i|we)\b|{RETRACTED}
    \bnot (?:really|in my|think so|at all|at this|a chance|yet|an?)\b|(?:ly|alas|afraid|course) not\b
    \n *(?:question|q|user|human|prompt)(?: +[0-9]+)? *:|\bso *[:=\u2003\u2002→-]
    \b{IN_SHORT}\b
    \b(?:it|that|this)(?:'s| is| would be|'d be| has to be| will be| must be) an?\b
""")
"""What may say or mark another verdict, or take the first one back."""
_TURN_DOWN = rf"\b(?:{inflect(TURNING_DOWN)}|{inflect_ing(TURNING_DOWN)}|ineligible)\b"
"""What may turn down after a first "yes","""
_TURN_DOWN_AT_ONCE = (
    r"\A\W*yes *[,:;\u2003-][^.!?\n]*(?:\b(?:should|would|must|can|could|do|does|is|be|to)(?:n't| not)\b|'d not\b|"
    r"can't|cannot|\b(?:turn|against|pass)\b)"
)
"""and what may turn down in the sentence of the "yes"."""


def _recommended(verb: str, ending_in_ing: str, noun: str, participle: str, opposite: str) -> str:
    """One's own recommendation of what was asked for, at the beginning of a sentence, or that one need not refuse."""
    mine = (
        r"(?:i|we)(?:'d|'ll| would| will)?(?: [a-z]+ly| still| therefore)*(?: be (?:inclined|happy|ready|willing) to)?"
    )
    advise = rf"{mine} (?:recommend|suggest|advise|favou?r|support)"
    asked = rf"(?:it|s?he|they|(?:the|this|that|her|his|their)(?: [a-z'-]+){{0,3}} {NOUN})"
    it = r"(?: (?:it|th[a-z]+|h[a-z]+|entry)\b|[.,;!])"
    should = r"(?:should|must|ought to|has to|needs to|is right to|would be right to)(?: [a-z]+ly| still| therefore)*"
    return ascii_boundaries(
        any_line(rf"""
            (?:{mine} |please )?{verb}{it}|{advise} (?:to {verb}|{ending_in_ing}){it}|{advise} (?:an? |the )?{noun}\b
            {advise} (?:that )?{asked} be {participle}\b|(?:my|the) recommendation is (?:to {verb}|{noun})\b
            {asked} {should} be {participle}\b|the(?: [a-z'-]+){{1,3}} {should} {verb}{it}
            it (?:makes sense|(?:is|would be) (?:right|best|reasonable|fair)) to {verb}{it}
            (?:do not|don't) {opposite}{it}
            (?:(?:i|we) (?:can )?see|there(?:'s| is| are)) no (?:[a-z]+ )?(?:reason|grounds?|basis) to {opposite}{it}
        """)
    )


_GRANT = "(?:approve|grant|accept)"
_DENY = r"(?:deny|reject|refuse|decline|turn(?: [a-z]+){0,2} down)"
_GRANTED = _recommended(_GRANT, "(?:approv|grant|accept)ing", "approval", "(?:approved|granted|accepted)", _DENY)
_DENIED = _recommended(
    _DENY,
    "(?:deny|reject|refus|declin)ing",
    "(?:denial|rejection|refusal)",
    "(?:denied|rejected|refused|declined|turned down)",
    _GRANT,
)
_THEREFORE = (
    r"(?:so|overall|therefore|thus|hence|accordingly|on balance|in my (?:view|opinion)|"
    r"i (?:think|believe|agree)(?: that)?)"
)
_COMMA = r"(?:[,:]| ?[\u2003-]) *"
_CONCEDED = ascii_boundaries(
    rf"\A\s*(?:yes|no){_COMMA}(?:(?P<conceded>(?:there|the|this|these|that|those|it|i)\b[^.!?\n]*)[.!\n]"
    r"(?s:.*?[.!\n])??\s*)??"
    rf"(?:{_THEREFORE},? )*(?:(?P<granted>{_GRANTED})|{_DENIED})(?P<rest>(?s:.*))"
)
_A_VERDICT = r"should|would|must|ought|recommend|approv|grant|deserv|qualif|eligib|^i (?:do|think so|believe so|agree)"
_ANOTHER = ascii_boundaries(
    rf"\A[^.!?\n]*(?:\b(?:not|if|unless|once|only|when|until)\b|n't\b)|\b(?:yes|no)\b|"
    rf"\b{VERDICT}(?: is|:)|[?\"]|{RETRACTED}"
)
"""A condition in the same sentence, or another verdict after it."""
_CONDITION = ascii_boundaries(r"\A[^.!?\n]*\b(?:if|unless|once|only|when|until)\b")


def read_recommended(text: pl.Expr) -> pl.Expr:
    """The label of a recommendation that contradicts a first "yes" or "no", as that then answers something else.

    The question is taken to ask for approval, as it is by all rules: an answer is read without its prompt.
    """
    found = text.str.extract_groups(_CONCEDED)
    conceded, granted, rest = (found.struct.field(name) for name in ("conceded", "granted", "rest"))
    first = text.str.extract(rf"\A\s*(yes|no){_COMMA}")
    contradicted = (first == "yes") == granted.is_null()
    for_both = pl.when(granted.is_null()).then(rest.str.contains(_GRANTED)).otherwise(rest.str.contains(_DENIED))
    in_one_sentence = conceded.is_null() & ~rest.str.contains(_CONDITION)
    plain = in_one_sentence | (~conceded.str.contains(_A_VERDICT) & ~rest.str.contains(_ANOTHER) & ~for_both)
    opposite = first.replace_strict(["yes", "no"], ["no", "yes"], default=None)
    return pl.when(contradicted & plain).then(opposite)


def read_bare_verdict(text: pl.Expr) -> pl.Expr:
    """The label where a bare verdict is all that an answer says of it, or its recommendation; null elsewhere."""
    return text.map_batches(_read_column, return_dtype=pl.String, is_elementwise=True)


def _read_column(texts: pl.Series) -> pl.Series:
    """The same for a column, in steps: nothing is searched for twice, and no text is copied."""
    patterns = (_FIRST, _LAST, _TURN, _TURN_DOWN, _TURN_DOWN_AT_ONCE)
    first, last, turn, turn_down, turn_down_at_once = map(ascii_boundaries, patterns)
    text, start, end, rest = map(pl.col, ("text", "start", "end", "rest"))
    without_start = text.str.slice(start.struct.field("said").str.len_chars())
    without_end = text.str.head(-end.struct.field("said").str.len_chars().cast(pl.Int64))
    verdict = pl.coalesce(start.struct.field("alone"), start.struct.field("first"), end.struct.field("last"))
    said_yes = pl.coalesce(start.struct.field("alone"), start.struct.field("first")) == "yes"
    turned_down = pl.when(said_yes).then(rest).str.contains(turn_down).fill_null(value=False)
    turned = rest.str.contains(turn) | turned_down | text.str.contains(turn_down_at_once)
    return (
        texts.to_frame("text")
        .with_columns(start=text.str.extract_groups(f"(?P<said>{first})"))
        .with_columns(
            end=pl.when(start.struct.field("said").is_null()).then(text).str.extract_groups(f"(?P<said>{last})")
        )
        .with_columns(rest=pl.coalesce(without_start, without_end))
        .select(pl.coalesce(read_recommended(text), pl.when(~turned).then(verdict)))
        .to_series()
    )
