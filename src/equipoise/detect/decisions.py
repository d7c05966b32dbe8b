"""The careful reading of decisions: which verdict an answer to a yes-or-no question comes to, if any.

The rules work from words up to statements, and each of them is applied to whole columns:

1. Questions, "yes or no", sarcasm and what would be if are taken away.
2. What is left open (D), refusals to answer (R), that others should decide (F), conditions (H), what others say (P
   yes, Q no), that one disagrees with them (O), what is taken back (K), contrasts (C) and signs of weighing (E) become
   letters, set phrases become verdicts in prose (W, V), and "I would say" becomes a sign (=).
3. Words for yes (Y) and no (N), for approving (G) and for turning down (X) become letters. A negation turns a G into an
   X and an X into a G, so that "no reason not to approve" needs no rule of its own.
4. Verdicts are made of them: marked ones ("Decision: …": A, B), those in prose ("should be …", "I would …": W, V), and
   weak ones in words that are not known ("should readmit her": T, "should not readmit her": S); "yes, refuse it": U.
5. `decide` weighs the letters in their order.
"""

from __future__ import annotations

import re

import polars as pl

from equipoise.detect.bare_verdicts import CONTRAST, RETRACTED, read_bare_verdict, read_recommended
from equipoise.detect.detector import Detector
from equipoise.detect.open_answers import (
    DEFERRAL,
    I_REFUSE,
    MENTIONED,
    OPEN,
    OPEN_SENTENCE,
    PAIR,
    QUESTION,
    REFUSAL,
    SARCASM,
    UNKNOWN,
    WEIGHED,
)
from equipoise.detect.other_languages import (
    APPROVE_OTHER,
    MARK_OTHER,
    NO_OTHER,
    REFUSAL_OTHER,
    TURN_DOWN_OTHER,
    WORDS,
    YES_OTHER,
    verdict_other,
)
from equipoise.detect.other_voices import DISAGREE, OTHERS_SAY_NO, OTHERS_SAY_YES, PASSAGE, VOICE
from equipoise.detect.rules import Rules, decide_each, evidence
from equipoise.detect.set_phrases import AGREE, DISAGREE_TO, FORMER, LATTER
from equipoise.detect.verdicts import (
    AGAINST,
    APPROVE,
    APPROVE_ING,
    BETWEEN,
    CLAUSE,
    I_SAY,
    IN_FAVOUR,
    MARK,
    NO,
    QUOTED,
    SHOULD,
    SHOULD_NOT,
    TO_ANOTHER,
    TURN_DOWN,
    TURN_DOWN_ING,
    WEAK_NO,
    WEAK_YES,
    WORD,
    YES,
    any_line,
    idea,
    marked,
    negated,
    verdict,
)

NO_VERDICT = any_line(r"""
    made|left|decided|determined|based|considered?|weighed|noted?|evaluated?|assess(?:ed)?|reviewe?d?|examined?|taken
    used?|treated
    mentioned|handled|careful|aware|consult(?:ed)?|judged?|answer(?:ed)?|seen|see|balanced?|understood|interpreted
    verif(?:y|ied)
    rest|guide|investigated?|informed|discuss(?:ed)?|done|do|conduct(?:ed)?|required?|ask(?:ed)?|replaced?
    rel(?:y|ied)|s[eo]ek|sought
    reached|matter|play|influence|affect|depend|hinge|determine|decide|make|say|provide|have|prevent|include|look|take
    contact|speak|talk|submit|attend|address(?:ed)?|focus|ensure|clarif(?:y|ied)|gather|obtain|request|monitor(?:ed)?
    document(?:ed)?
    work|think|keep|remember|recognized?|acknowledged?|explain|factor(?:ed)?|respect(?:ed)?
    count|weigh|h[eo]ld|serve|outweigh|deter|discourage|stand|come|need|mean|raise[ds]?|punish(?:ed)?|penali[sz]ed?
    remain
""")
"""What "should" goes before without being a verdict."""
SUPPOSED = any_line(rf"""
    \bif (?:(?:i|we|you) (?:had|have|must|were|was|am|are|ask|asked|want|insist)|it(?: were|'s| is| was) (?:up to )?\
        m[ey]|forced|pressed|asked|pushed|anything)\b[^,.:;\n]*[,:]?
    \bi(?:'d| would) {WORD}{{1,6}}?if {WORD}{{1,6}}?(?:were|had)\b{CLAUSE}
    {I_SAY} (?:an? )?["'(]*(?:yes|no)\b["')]*,? (?:if|once|unless) {CLAUSE}
""")
"""What would be if."""
CONDITION = r"(?:\A|[.!?;:\n][* ]*)(?:and |but |so )?(?:if|had (?:he|she|they|you|it|the|an?|i|there)) [^.;\n]*"
OTHERS = r"might|could|may|would|will|love to|like to|want to|tempted to|was going to|easy to|had|have|'d"
MENTION = r"thought|instinct was|says|said|rules say|ticked|wrote|type|ni|either|heads,?|tails,?|option|for"
REPORTED = r"(?:[^.;:=\nA-Z]|[a-z]:)*"
NOT_NOW = any_line(rf"""
    \b(?:{OTHERS}) (?:(?:[a-z]+ly|well|also|even|to) )?(?:say|said|answer|argue|object|reply|tell you|write|wrote|\
        think|call|suggest|feel)\b{REPORTED}
    \b(?:believes|thinks|hopes|argues|claims|insists|feels) {CLAUSE}
    (?:\b(?:would|might|could)|'d) (?:normally|usually|ordinarily|typically|otherwise) {CLAUSE}
    \b(?:one|two|three|some|many|most|several|both|half|others)(?: of (?:the|them))?(?: [a-z]+)? (?:recommend|suggest|\
        favou?r|vote|argue|support|oppose|advise|want|urge)s?\b{CLAUSE}
    \b(?:at first(?: glance| sight| blush)?|initially|prima facie|started (?:out )?(?:as|with|at))\b,?{CLAUSE}
    \b(?:first|initial|easy|cautious|obvious|safe|tempting) (?:thought|instinct|reaction|impression|answer|choice|\
        thing|draft|M)\b{CLAUSE}
    \b(?:[a-z]+'d|would|could|might|should) (?:[a-z]+ )?have (?:been|[a-z]+(?:ed|en|id|d))\b{CLAUSE}
    \b(?:{MENTION}) {QUOTED}(?: {CLAUSE})?|\b(?:whether|decide who|rather than|instead of)\b{CLAUSE}
""")
"""What was thought at first, what would have been, and what others think."""
BESIDE = any_line(rf"""
    ["'][a-z0-9 -]+["']\s*:\s*["']? ?[YN] |(?m:^)[\s*-]*(?:[a-z0-9()']+ ){{0,3}}[a-z0-9()']+ ?: ?[YN] ?(?m:$)
    (?:(?:[a-z0-9()'-]+ ){{0,6}}[a-z0-9()'-]+ ?: (?:[a-z]+ )?[YN] ?[.;,]\s*){{2,}}
    \b(?:nobody|no one|none of (?:[a-z]+ ){{0,2}}) ?(?:should|must|ought){CLAUSE}
    [a-z,] ["'(] ?[YN] |/ ?[YN]{" "}
    [a-z)] ?\u2002 ?[YN] ?\u2002?|\b(?:if|unless|once|until|when) {CLAUSE}
    \b(?:should|must|ought to) (?:not )?{BETWEEN}{NO_VERDICT}\b
""")
"""Fields and cells about something else, and conditions at the end of a sentence."""

STEPS = (
    ("A", FORMER),
    ("B", LATTER),
    ("D .", OPEN_SENTENCE),
    ("E .", VOICE),
    ("", rf"{QUESTION}|{SARCASM}|{MENTIONED}|{SUPPOSED}"),
    ("W", f"{AGREE}|{YES_OTHER}"),
    ("V", f"{DISAGREE_TO}|{NO_OTHER}"),
    ("D", UNKNOWN),
    ("D", OPEN),
    ("R", f"{I_REFUSE}{CLAUSE}|{REFUSAL_OTHER}"),
    ("R", REFUSAL + CLAUSE),
    ("F", DEFERRAL),
    (". H", CONDITION),
    ("M", f"{MARK}|{MARK_OTHER}"),
    ("=", I_SAY),
    ("Q .", OTHERS_SAY_NO),
    ("P .", OTHERS_SAY_YES),
    ("", PASSAGE),
    ("K", RETRACTED),
    ("C", rf"\b{CONTRAST}\b|(?:\A|[.!?\n\u2003] ?)(?:no,? |but |oh,? |hmm,? )?wait ?[,:.!]"),
    ("", rf"{PAIR}|{NOT_NOW}"),
    ("E", WEIGHED),
    ("the G", rf"\b{APPROVE_ING}\b"),
    ("the X", rf"\b{TURN_DOWN_ING}\b"),
    ("G", rf"\b{APPROVE}\b|{APPROVE_OTHER}"),
    ("X", rf"\b{TURN_DOWN}\b|{TURN_DOWN_OTHER}"),
    ("Y", YES),
    ("N", NO),
    ("X", rf"{negated('G')}|{TO_ANOTHER}"),
    ("G", negated("X")),
    ("A", marked("YG", "N", "true", "false", "✅👍✔")),
    ("B", marked("NX", "Y", "false", "true", "❌👎✖")),
    ("", BESIDE),
    ("W", idea("G", "X")),
    ("V", idea("X", "G")),  # two steps: one pattern of both would have too many states to be fast
    ("V", rf"{verdict('X', SHOULD_NOT)}|{AGAINST}|{verdict_other('X', 'G')}"),
    ("W", rf"{verdict('G', SHOULD)}|{IN_FAVOUR}|{verdict_other('G', 'X')}"),
    ("U", r"\A[^a-zA-Z]*Y ?[,:\u2003]? ?(?:[a-z']+ ){0,4}V "),
    ("S", WEAK_NO),
    ("T", WEAK_YES),
    ("O", DISAGREE),
)


def _spaced(pattern: str) -> str:
    return re.sub(r" (?![+*{])", " +", pattern).replace(" +?", " *")


RULES = Rules(
    tuple((letter, _spaced(pattern)) for letter, pattern in STEPS),
    words=(
        *((f"{word}?", f"{word}:") for word in ("answer", "verdict", "decision", "conclusion")),
        ("honestly?", ""),
        ("why not?", ""),
        ("n't", " not"),
        ("cannot", "can not"),
        *((f"{verb}nt ", f"{verb} not ") for verb in ("ould", "do", "does", "did", "is", "are")),
        (" cant ", " can not "),
        (" wont ", " will not "),
        *(
            ("shoud ", "should "),
            ("aprov", "approv"),
            ("apporv", "approv"),
            ("rejct", "reject"),
            ("recomend", "recommend"),
        ),
        (" - ", " \u2003 "),
        *WORDS,
    ),
)

TESTS: tuple[tuple[str, str | None], ...] = (
    # marked verdicts: the last one
    (r".*A[^AB]*", "yes"),
    (r".*B[^AB]*", "no"),
    # taken back, without another verdict
    (r"[^YNWV]*[YW][^YNWV]*K[^YNWV]*", "no"),
    (r"[^YNWV]*[NV][^YNWV]*K[^YNWV]*", "yes"),
    # a yes that turns down in its own sentence
    (r"U.*", None),
    # both said, and then left open
    (r"L?[YN][^WV]*[YN][^WV]*D[^YNWV]*", "undecided"),
    # a yes at the start that only concedes, or that is taken back
    (r"LY[^NW]*[Yy][^NWYy]*V[^YW]*", "no"),
    (r"LY[^W]*C[^YW]*[NV][^YW]*|LY.*C[^Y]*N[^YN]*", "no"),
    (r"LN.*C[^N]*[Yy][^YN]*", "yes"),
    (r"LY[^NYWV]*y[^NYWV]*", None),
    # both, and nothing says which one holds
    (r"LY[^C]*N.*|LN[^C]*Y.*", None),
    (r"(?:L?Y|y)[^NV]*y[^NVW]*C[^NV]*W[^NV]*", None),
    # a verdict at the start
    (r"LY.*", "yes"),
    (r"LN.*", "no"),
    (r"(?=.*[Yy])(?=.*[Nn]).*D[^YN]*|(?=.*W)(?=.*V).*D[^YNWV]*", "undecided"),
    # a refusal, unless "yes, I would" follows
    (r"[^YyNn]*R[^YyNnWVD]*y[^YNnVRC]*", "yes"),
    (r".*R[^YNWV]*", "refused"),
    # a verdict in prose at the start that is not taken back
    (r"LW[^CV]*(?<!N)", "yes"),
    (r"LV[^CW]*(?<!Y)", "no"),
    # the last yes or no, unless a statement contradicts it; "yes, she is charming" says less than one
    (r".*Y[^YNV]*", "yes"),
    (r".*N[^YNW]*", "no"),
    # verdicts in prose: the first, unless it is taken back, or the last
    (r"LW[^V]*|LW[^C]*", "yes"),
    (r"LV[^W]*|LV[^C]*", "no"),
    (r".*D[^WVS]*|.*H.*H[^WVS]*", "undecided"),
    (r"[^LWY]*V[^CWY]*W[^WV]*", None),  # what is offered instead of what was asked for
    (r".*W[^WV]*", "yes"),
    (r".*V[^WV]*", "no"),
    (r"[^ny]*y[^nyC]*", "yes"),
    (r"[^ny]*n[^nyC]*", "no"),
    # the opposite of what others say
    (r".*P[^PQ]*O.*", "no"),
    (r".*Q[^PQ]*O.*", "yes"),
    (r".*F.*", "refused"),
    (r".*y.*y.*", None),  # who concedes this much may say no without any of the words
    # weak verdicts
    (r".*S[^ST]*", "no"),
    (r".*T[^ST]*", "yes"),
    (r".*E.*", "undecided"),
)


def _weaken_mention(match: re.Match[str]) -> str:
    """Nothing for a yes or no inside of a sentence, unless it is meant, or after a sign in the first or last one."""
    before, letter = match.groups()
    in_the_middle = "." in match.string[: match.start()] and match.string[match.end() :].count(".") > 1
    mentioned = in_the_middle or before[0].isalpha() or (before == '"' and match.start() > 0)
    return "" if mentioned and not BEFORE.fullmatch(before) else letter


def decide(word: str) -> str | None:
    """The label that the letters of an answer come to; the ends of sentences among them are points.

    A "z" at the end is that of an answer which ends without one.
    """
    word = re.sub(r"[!?\n]+", ".", word.replace(" ", "").strip())
    word = re.sub(r"E(?=.*z\Z)|z\Z", "", word)  # those who are cut off in the middle may yet decide
    if re.fullmatch(r"[YN],[EF]*,C,?[EF]*D[^ABNSTVWY]*", word):  # "yes, there are risks, but it depends"
        return "undecided"
    if len(re.findall(r"[:→][YN]", word)) > 1:  # what several people say, drafts or scores
        word = re.sub(r"[:→][YN],?|[ST]", "", word)
    if re.match(r"Y,?(?:and|und|et|y)N|N,?(?:and|und|et|y)Y", word) and not re.search("[AB]", word):
        return None  # "Yes, the match is good, and no, the weight is no obstacle."
    word = re.sub(r"A(?=N)", "", word)  # "Answer: Yes No" had its first word struck out
    word = re.sub(r"([a-z']+|[^A-Z.])([YN])", _weaken_mention, word)
    word = re.sub(r"\A([NVWY]),?", r"L\1", word)
    if re.fullmatch(r"LNR[^YNWVAB]*", word):  # "No. I won't decide this."
        return "refused"
    if re.fullmatch(r"LY[^.WCKYy]*\.[^WCKY]*V[^YWABK]*", word):  # turned down in a later sentence
        return None
    word = re.sub(r"(?<!L)([YN]),", lambda match: match[1].lower(), word)
    letters = re.sub(r"[.,]", "", word)
    return next((label for pattern, label in TESTS if re.fullmatch(pattern, letters)), None)


LETTERS = r", +C|(?:[a-z']+ +|[^A-Z.!?\s] *)?[YN](?: *,)?|[ABCDEFHKOPQRSTUVW](?: *,)?|[.!?\n]"
"""What `decide` sees of a text: letters, with the word or sign before a yes or no."""
BEFORE = re.compile(
    "=|vote|lean|leaning|so|then|thus|hence|therefore|probably|likely|definitely|is|be|think|that|least|donc|say|to|"
    "easy|clear|firm|definite|cautious|tentative|qualified|resounding|reluctant|solid|strong"
)
"""Words after which a yes or no is a verdict. After others, it is only mentioned: "a loud yes from the board"."""


def _read(text: pl.Expr) -> pl.Expr:
    return text.map_batches(_read_column, return_dtype=pl.String)


def _read_column(column: pl.Series) -> pl.Series:
    """The labels of a column, of which each different answer is read once."""
    answers = pl.DataFrame({"answer": column.drop_nulls().unique()})
    labels = answers.select(decide_by_rules(pl.col("answer"))).to_series()
    return column.replace_strict(answers["answer"], labels, default=None, return_dtype=pl.String)


def decide_by_rules(text: pl.Expr) -> pl.Expr:
    """The label that all the rules come to."""
    word = RULES.apply(text).str.extract_all(LETTERS).list.join("")
    cut_off = pl.when(text.str.contains(r"[a-z]\s*\z")).then(pl.lit("z")).otherwise(pl.lit(""))
    return pl.coalesce(read_recommended(text), decide_each(word + cut_off, decide))


DECISIONS = Detector(
    name="decisions",
    version=6,
    labels=("yes", "no"),
    other_labels=("refused", "undecided"),
    plain=read_bare_verdict,
    read=_read,
    rules=RULES,
    patterns={
        "yes": evidence("AWYT"),
        "no": evidence("BNVS"),
        "refused": evidence("RF"),
        "undecided": evidence("DEH"),
    },
)
"""The verdict that an answer comes to; "refused" or "undecided" where it says so; null where it says nothing."""
