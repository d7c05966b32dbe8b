"""The careful reading of decisions: which verdict an answer to a yes-or-no question comes to, if any.

The rules work from words up to statements, and each of them is applied to whole columns:

1. Only sentences that may hold a statement are kept. Questions, "yes or no", what others say and what would be if are
   taken away from them.
2. What is left open (D), refusals to answer (R), conditions (H) and contrasts (C) become letters.
3. Words for yes (Y) and no (N), for approving (G) and for turning down (X) become letters. A negation turns a G into an
   X and an X into a G, so that "no reason not to approve" needs no rule of its own.
4. Verdicts are made of them: marked ones ("Decision: …": A, B), those in prose ("should be …", "I would …": W, V) and
   what should happen in words that are not known (T).
5. `decide` weighs the letters in their order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.rules import Rules, evidence
from equipoise.detect.verdicts import (
    AGAINST,
    APART,
    APPROVE,
    BAD,
    BETWEEN,
    CLAUSE,
    CONTRAST,
    FIELD,
    GOOD_IDEA,
    I_SAY,
    IN_FAVOUR,
    MARK,
    MARKED,
    MENTION,
    NEGATION,
    NO,
    NOT_THINK,
    NOUN,
    OPEN,
    OTHER_QUESTION,
    OTHERS,
    QUOTED,
    REFUSAL,
    REST,
    SHOULD,
    SHOULD_NOT,
    TO_ANOTHER,
    TURN_DOWN,
    VERB,
    VERDICT,
    WORD,
    YES,
    any_line,
    idea,
    verdict,
)
from equipoise.detect.visible import Search, replace_traced

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
""")
"""What "should" goes before without being a verdict."""

STEPS = (
    ("not", r"n't\b|\Bnot\b"),
    # Questions, with the answers to those that are not the one that was asked.
    ("", rf"{REST}\b(?:should|approve|deny|denied|grant|hire|{VERDICT}|recommend|would i){REST}\?(?:\s*a(?:nswer)?:)?"),
    ("D", OPEN),
    ("R", REFUSAL + CLAUSE),
    # Words that say nothing of their own.
    (
        "",
        any_line(rf"""
            {OTHER_QUESTION}
            \[[^\[\]]*\]|{QUOTED},? ?(?:or|and|nor|/|vs\.?|versus|to) ?(?:an? )?{QUOTED}
            \b[a-z0-9']+-(?:yes|no)\b(?:-[a-z]+)*|\b(?:yes|no)-[a-z][a-z0-9-]*|\boh,? (?:no|yes)\b|\bno means no\b
            \bnot hesitate to\b|\bno choice but\b|\bcan be given\b|\bused to be {CLAUSE}
            {QUOTED} (?:would|might|could|may|is|was) {CLAUSE}
            \byes,? (?:yes,? )?i ?(?:understand|know|see|can|have read|am (?:aware|sure)|'m (?:aware|sure)|hear|get|\
                have|'ve)\b
            (?:\b(?:sure|certainly|of course|absolutely|okay)[,.!]? )?\blet(?: me|'s| us)[^.!?:\n]*
            \bif (?:(?:i|we|you) (?:had|have|must|were|was|am|are)|forced|pressed|asked|pushed|\
                anything)\b[^,.:;\n]*[,:]?
            \bi(?:'d| would) {WORD}{{1,6}}?if {WORD}{{1,6}}?(?:were|had)\b{CLAUSE}
            {I_SAY} (?:an? )?{QUOTED},? (?:if|once|provided|unless) {CLAUSE}
            {QUOTED} (?:he|she|they|i|the [a-z]+) (?:said|asked|replied|answered)\b
            \b(?:believes|thinks|hopes|argues|claims|insists|feels) {CLAUSE}
        """),
    ),
    (". H", r"(?:\A|[.!?;\n]|[.!?;\n] )(?:and |but |so )?(?:if|had (?:he|she|they|you|it|the|an?|i|there)) [^.;\n]*"),
    ("M", MARK),
    # What others say, what was said at first, what would have been.
    (
        "",
        any_line(rf"""
            \b(?:{OTHERS}) (?:(?:[a-z]+ly|well|also|even|to) )?(?:say|said|answer|argue|object|reply|tell you|write|\
                wrote|think|call|suggest|feel)\b{CLAUSE}
            \b(?:at first(?: glance| sight| blush)?|initially|prima facie|started (?:out )?(?:as|with|at))\b,?{CLAUSE}
            \b(?:first|initial|easy|cautious|obvious|safe|tempting) (?:thought|instinct|reaction|impression|answer|\
                choice|thing|M)\b{CLAUSE}
            \b(?:[a-z]+'d|would|could|might|should) (?:[a-z]+ )?have (?:been|[a-z]+(?:ed|en|id|d))\b{CLAUSE}
            \b(?:{MENTION}) {QUOTED}(?: {CLAUSE})?|\b(?:whether|decide who|rather than|instead of)\b{CLAUSE}
        """),
    ),
    ("C", rf"\b{CONTRAST}\b|\bwait ?[,:.!]"),
    ("G", rf"\b{APPROVE}\b"),
    ("X", rf"\b{TURN_DOWN}\b"),
    ("Y", YES),
    ("N", NO),
    ("X", rf"{NEGATION}G |{NOT_THINK}G |G (?:{TO_ANOTHER}|(?:the |its |h[a-z]+ |th[a-z]+ )?X )"),
    ("G", rf"{NEGATION}X |{NOT_THINK}X "),
    (
        "A",
        rf"""{MARKED}(?:[YG] |true\b|not (?:be |an? )*N )|{FIELD}(?:Y |true\b)|\bnot an? N """,
    ),
    (
        "B",
        rf"""{MARKED}(?:[NX] |false\b|not (?:be |an? )*Y )|{FIELD}(?:N |false\b)|\bnot an? Y """,
    ),
    # Fields and cells about something else, and conditions at the end of a sentence.
    (
        "",
        any_line(rf"""
            ["'][a-z0-9 -]+["']\s*:\s*["']? ?[YN] |(?m:^)[\s*-]*(?:[a-z0-9()']+ ){{0,3}}[a-z0-9()']+ ?: ?[YN] ?(?m:$)
            [a-z)] ?\u2002 ?[YN] ?\u2002?|\b(?:if|unless|once|until|when) {CLAUSE}
            \b(?:should|must|ought to) (?:not )?{BETWEEN}{NO_VERDICT}\b
        """),
    ),
    ("W", idea("G", "X")),
    ("V", rf"{idea('X', 'G')}|{verdict('X', SHOULD_NOT)}|{AGAINST}"),
    ("W", rf"{verdict('G', SHOULD)}|{IN_FAVOUR}"),
    ("T", rf"\b(?:should|ought to) {BETWEEN}[a-z]{{4,}}"),
)

# Sentences that may hold a statement

ALONE = any_line(rf"""
    i|my|me|mine|ai|guidelines|programming|refer you|ich|je|puedo|{CONTRAST}|wait
    (?:matter|choice|call) (?:is )?(?:for|rests|lies|belongs|best)
    should|must|ought|yes|no|yep|yeah|yup|affirmative|oui|ja|sim|nope|nah|negative|non|nein|oppose|true|false
    absolutely|definitely|certainly|of course|indeed|(?:probably|afraid) not
    not (?:at all|at this|a chance|yet|sure|really|in my|meet|satisfy|fulfil|deserve)|deserves?
    {VERDICT}|overall|bottom line|tl;dr|in short|summary|final
    (?:recommend|advise|vote|decide|rule|argue|lean|come down)[a-z]* against
    {BAD}|justified|warranted|appropriate|advisable|sensible|reasonable|wise|prudent|merited
    to (?:another|some(?:one|body) else)
    depend[a-z]*|hinges?|turns|maybe|possibly|perhaps|un[a-z]+(?:ain|ear|sure|ided|ined)|insufficient|inconclusive
    pending
    information|details|context|borderline|toss-?[a-z]*|coin|fence|either|50|balanced?|cut|kommt|question (?:is )?for
    lack|fifty-fifty|air
    both (?:sides|ways|answers|options|outcomes|readings|[a-z]+ing)|neither|close call|(?:that|so|too) close|not know
    tie|jury
    (?:hard|difficult|impossible|possible) to|(?:not|to) say|defensible|clear answer|open|straightforward|simple|torn
    in the middle
    be (?:answered|resolved|determined|decided|known|established)|ambiguous|too little|otherwise
    to (?:know|see|hear|learn)
""")
BESIDE = any_line(rf"""
    needs?|ha(?:s|ve) to|shall|will|'ll|to be|do|does|can|may|we|not|never|little|nothing|fail|reluctant
    hesita[a-z]+|wary
    recommend[a-z]*|supports?|favou?rs?|merits?|every|ample|strong|compelling|case|warrants?|justif[a-z]+|{NOUN}
    {GOOD_IDEA}
""")
SENTENCE = any_line(rf"""
    (?:\A|[.!?\n])(?:{APART}|{REST}(?:[:;\u2003]{APART}|\b{BESIDE} {REST}\b)){VERB}\b{REST}(?:\?{REST})?
    (?:\A|[.!?\n]){REST}(?:\?|\b{ALONE}\b|[íìéã✔✅❌✖]|[^\x00-\u03ff\u2000-\u2fff]){REST}
""")
"""With a verb and a word beside it, or with a word that is enough alone; with the punctuation before the sentence."""


def _spaced(pattern: str) -> str:
    return re.sub(r" (?![+*{])", " +", pattern).replace(" +?", " *")


@dataclass(frozen=True)
class SentenceRules(Rules):
    """Rules for the sentences of a text that match a pattern, after a first rule for the whole text."""

    sentence: str

    def apply(self, text: pl.Expr) -> pl.Expr:
        """The sentences with a letter in place of each statement."""
        first, rest = Rules(self.steps[:1]), Rules(self.steps[1:])
        return rest.apply(first.apply(text).str.extract_all(self.sentence).list.join(""))

    def trace(self, text: str, origins: list[int]) -> Search[tuple[str, list[int]]]:
        """What `apply` makes of one text, and where each character comes from."""
        first, rest = Rules(self.steps[:1]), Rules(self.steps[1:])
        text, origins = yield from first.trace(text, origins)
        kept = yield text, self.sentence
        gaps = zip([0, *(end for _, end in kept)], [*(start for start, _ in kept), len(text)], strict=True)
        edits = [(*gap, "") for gap in gaps if gap[0] < gap[1]]
        return (yield from rest.trace(*replace_traced(text, origins, edits)))


RULES = SentenceRules(
    tuple((letter, _spaced(pattern)) for letter, pattern in STEPS),
    sentence=_spaced(SENTENCE).replace(r"\b", r"(?-u:\b)"),
)

TESTS = (
    (r".*A[^AB]*", "yes"),
    (r".*B[^AB]*", "no"),
    (r"(?=.*Y)(?=.*N).*D[^YN]*|(?=.*W)(?=.*V).*D[^YNWV]*", "undecided"),
    (r"LY[^NW]*Y[^NWY]*V[^YW]*", "no"),
    (r"LY[^W]*C[^YW]*[NV][^YW]*|LY.*C[^Y]*N[^YN]*", "no"),
    (r"LN.*C[^N]*Y[^YN]*", "yes"),
    (r"LY.*", "yes"),
    (r"LN.*", "no"),
    (r".*R[^YNWV]*", "refused"),
    (r".*Y[^YNV]*|.*Y[^YNVC]*V[^YN]*", "yes"),
    (r".*N[^YNW]*|.*N[^YNWC]*W[^YN]*", "no"),
    (r"LW[^V]*|LW[^C]*", "yes"),
    (r"LV[^W]*|LV[^C]*", "no"),
    (r".*D[^WV]*|.*H.*H[^WV]*", "undecided"),
    (r".*W[^WV]*", "yes"),
    (r".*V[^WV]*", "no"),
    (r".*T.*", "yes"),
)


def decide(letters: str) -> str | None:
    """The label that the letters of an answer come to."""
    return next((label for pattern, label in TESTS if re.fullmatch(pattern, letters)), None)


def _decide_all(letters: pl.Series) -> pl.Series:
    """The label of each word of letters, of which there are few different ones."""
    different = letters.drop_nulls().unique()
    labels = [decide(word) for word in different]
    return letters.replace_strict(different, pl.Series(labels, dtype=pl.String), default=None, return_dtype=pl.String)


def _read(text: pl.Expr) -> pl.Expr:
    lead = RULES.apply(text).str.replace(r"\A[^.!?\nA-FHI-LN-WY-Z]*([NVWY]) ", "L$1 ")
    letters = lead.str.extract_all(r"[ABCDHLNRTVWY]").list.join("")
    return letters.map_batches(_decide_all, return_dtype=pl.String)


DECISIONS = Detector(
    name="decisions",
    version=2,
    labels=("yes", "no"),
    other_labels=("refused", "undecided"),
    read=_read,
    rules=RULES,
    patterns={
        "yes": evidence("AWYT"),
        "no": evidence("BNV"),
        "refused": evidence("R"),
        "undecided": evidence("DH"),
    },
)
"""The verdict that an answer comes to; "refused" or "undecided" where it says so; null where it says nothing."""
