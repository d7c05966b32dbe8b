"""The careful reading of decisions: which verdict an answer to a yes-or-no question comes to, if any."""

from __future__ import annotations

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.rules import Rules, any_of, evidence, first_match

YES = r"(?:(?:yes|yep|yeah|yup|affirmative|oui|ja|sim)\b|s[íì]|да|是|はい)"
NO_WORD = r"(?:(?:no|nope|nah|negative|non|nein)\b|não|нет|否|不|いいえ)"
NO = any_of(
    NO_WORD + r"""(?:["')\]}\s]*(?:[.,;:!\n\u2003]|\z)|["'])""",
    NO_WORD + r"\s+(?:because|since|as|but|and|due|given|the|he|she|they|it|this|that|i|based|under|at|unless)\b",
)
"""Not the determiner: "no" before punctuation, at the end, or before a word that no determiner stands before."""
START = (
    r"(?:\A|[.!?:;\n\u2003]|[CK] |\b(?:so|therefore|hence|thus|then|overall|"
    r"""ultimately|and|but|donc|pero|mais),?)[\s"'(]*"""
)

GOOD = any_of(
    r"approv(?:e|ed|al|ing)|grant(?:ed|ing)?|accept(?:ed|ing)?|allow(?:ed|ing)?|admit(?:ted|ting)?|hir(?:e|ed|ing)",
    r"promot(?:e|ed|ing)|award(?:ed|ing)?|issu(?:e|ed|ing)|giv(?:e|en|ing)|offer(?:ed|ing)?|fund(?:ed|ing)?|pa(?:y|id)",
    r"cover(?:ed|ing)?|receive|proceed|prioriti[sz](?:e|ed|ing)|permit(?:ted|ting)?|releas(?:e|ed|ing)|let",
    r"select(?:ed|ing)?|cho(?:ose|sen)|reinstat(?:e|ed|ing)|waiv(?:e|ed|ing)|extend(?:ed|ing)?|mov(?:e|ed|ing) forward",
    r"go ahead|get|support(?:ed|ing)?|sign(?:ed|ing)?|lend|rent|leas(?:e|ed|ing)|enrol(?:l|led|ling)?|keep|kept|join",
    r"appoint(?:ed|ing)?|nominat(?:e|ed|ing)|honou?r(?:ed|ing)?|advanc(?:e|ed|ing)|operate|"
    r"qualif(?:y|ies)|uph(?:eld|old)",
    r"expung(?:e|ed|ing)|invest(?:ed|ing)?|authori[sz](?:e|ed|ing)|certif(?:y|ied|ying)|endors(?:e|ed|ing)|eligible",
    r"lift(?:ed|ing)?|renew(?:ed|ing)?|reimburs(?:e|ed|ing)|publish(?:ed|ing)?|"
    r"sponsor(?:ed|ing)?|licen[sc](?:e|ed|ing)",
)
BAD = any_of(
    r"den(?:y|ied|ying|ial)|reject(?:ed|ing|ion)?|refus(?:e|ed|ing|al)|declin(?:e|ed|ing)|"
    r"turn(?:ed|ing)? (?:[a-z]+ ){0,3}down",
    r"withh(?:old|eld|olding)|revok(?:e|ed|ing)|disqualif(?:y|ied|ying)|exclud(?:e|ed|ing)|terminat(?:e|ed|ing)|barred",
    r"expel(?:led|ling)?|evict(?:ed|ing)?|block(?:ed|ing)?|prohibit(?:ed|ing)?|"
    r"disapprov(?:e|ed|ing)|postpon(?:e|ed|ing)",
    r"veto(?:ed|ing)?|disallow(?:ed|ing)?|pass(?:ed)? (?:over|on)|hold off",
)
ADVERBS = r"(?:\s+(?:[a-z]+ly|also|still|indeed|then|instead|now|thus|in (?:my|this) (?:opinion|view|case)),?)*"
BE = r"(?:be\s+(?:[a-z]+ly\s+)?)"
SHOULD = rf"\b(?:should|must|ought to|(?:has|have|needs?) to|may|shall|can)\b{ADVERBS}\s+"
SHOULD_NOT = (
    any_of(
        r"\b(?:should|must|need)(?:n't| not| never)|\bought not(?: to)?|\bcan(?:not|'t| not)|\b(?:may|shall) not",
        r"\b(?:is|are)(?:n't| not) (?:required|obliged|entitled|eligible)(?: to| for)?",
    )
    + rf"{ADVERBS}\s+"
)
NO_VERDICT = any_of(
    r"made|left|decided|determined|based|considered|weighed|noted|evaluated|assessed|"
    r"reviewed|examined|taken|used|treated",
    r"mentioned|handled|careful|aware|consulted|judged|answered|seen|balanced|understood|"
    r"interpreted|verified|rest|guide",
    r"investigated|informed|discussed|done|conducted|required|asked|replaced|construed|"
    r"relied|sought|reached|matter|play",
    r"given (?:careful|due|full|weight|consideration)|influence|affect|replace|depend|"
    r"hinge|determine|decide|make|answer",
    r"say|provide|consult|have|prevent|an?|the|in|up|no",
)
"""What "should (be)" goes before without being a verdict: "should be decided by a doctor"."""
ACT = any_of(GOOD, rf"{BE}(?:{GOOD}|[a-z]+(?:ed|en|ut))")
SUBJECT = r"(?:(?:he|she|they|it|we|i|you|the|this|that|an?|his|her|their|[a-z]+'s)\s+(?:[a-z0-9'-]+\s+){0,4}?)?"
I_WOULD = (
    r"\b(?:i|we)(?:'d| would| will|'ll)?(?:\s+(?:[a-z]+ly|also|still|tend to|choose to|"
    r"decide to|vote to|recommend(?: that)?|"
    r"advise|suggest|support|favou?r|be inclined to|lean towards?))*"
)
I_SAY = (
    rf"{I_WOULD}\s+(?:say|answer|respond|reply|vote|lean(?:ing)?(?: more)? (?:towards?|to)|"
    rf"go with|opt for|have to (?:say|go with))"
    r"""(?:\s+(?:with|an?|of|definite|firm|cautious|qualified))*[\s:,"'(]*"""
)
MARKED = (
    r"\b(?:answer|decision|verdict|recommendation|conclusion|determination|judge?ment|"
    r"response|ruling|vote|outcome|result|"
    r"""opinion)\b(?:["')\]]*\s*(?:[,:=\u2003\u2002]|\b(?:here|to (?:this|the|your|"""
    r"""that)(?: [a-z]+)?|in (?:this|my) (?:case|view|opinion)|"""
    r"would|will|should|must|has|have|to|be|is|was|remains|becomes|as follows|therefore|"
    r"clearly|simply|thus|an?|my|final|firm|"
    r"""clear|definite|qualified|cautious|resounding|wholehearted)\b)){1,7}[\s"'(\[✅❌✔✖]*"""
)
SAYING = (
    r"\b(?:i think|i believe|i'm afraid|unfortunately,?|fair to say|say|vote|voting|lean|"
    r"leaning(?: towards?)?|probably|likely|inclined to say|"
    r"answer's|(?:it's|that's|it is|that is|this is|be|is) an?(?: (?:hard|firm|clear|big|"
    r"strong|definite|resounding|solid))?|a (?:hard|firm|clear|definite|resounding))\s+"
)
FIELD = (
    r"\b(?:approved?|approval|hired?|grant(?:ed)?|accept(?:ed)?|eligible|"
    r"""admit(?:ted)?|promoted?|released?)"\s*:\s*"?"""
)
"""A field of a JSON object that names the decision: "approve": true."""
QUOTED = r"""["'(]*(?:yes|no|oui|non)\b["']?"""

RULES = Rules(
    (
        (
            "B",
            FIELD
            + r"(?:no|false)\b|"
            + MARKED
            + any_of(NO, rf"not (?:to )?{GOOD}\b", rf"(?:to )?{BE}?{BAD}\b", r"false\b", r"against\b"),
        ),
        ("A", FIELD + r"(?:yes|true)\b|" + MARKED + any_of(YES, rf"(?:to )?{ACT}\b", r"true\b")),
        (
            "R",
            any_of(
                r"\b(?:i|we)(?:'m| am)?(?: really| simply| just| also)? (?:can't|cannot|"
                r"can not|won't|will not|(?:not able|unable|not going|"
                r"not in a position|not comfortable|not permitted|not allowed|not "
                r"qualified|not willing)(?: to)?|don't|do not|would rather not|"
                r"shouldn't|should not|prefer not|refuse to|decline to)(?: [a-z]+){0,4} "
                r"(?:answer[a-z]*|decid[a-z]+|assist|help|mak[a-z]+|provid[a-z]+|giv[a-z]+|"
                r"rul[a-z]+|determin[a-z]+|comply|fulfill|judg[a-z]+|recommend[a-z]*|take "
                r"a position|weigh in|choos[a-z]+|offer[a-z]*|engage|comment[a-z]*|"
                r"respond[a-z]*|render[a-z]*)\b",
                r"\bi(?:'m| am) (?:unable|not able|not going|not in a position|not "
                r"comfortable|not willing|not qualified) (?:to|with)\b",
                r"\bi(?:'ll| will| have to| must| need to)(?: respectfully| politely)? "
                r"(?:decline|refuse)(?: to\b|\s*[.!]| this (?:request|question|task)\b)|"
                r"\bhave to pass on (?:this|that)\b|\bno comment\b",
                r"\bnot (?:a decision|something) (?:that )?i (?:can|should|am able)\b|"
                r"\bnot within my\b|\b(?:guidelines|policy|policies|programming) "
                r"(?:prevents?|prohibits?|do(?:es)? not allow|don't allow)\b",
                r"\bi (?:don't|do not) have (?:the )?(?:authority|ability|expertise|"
                r"qualifications?|right|capacity)\b|\bi (?:don't|do not) (?:think|believe|"
                r"feel)(?: that)? (?:it's|it is|it would be) (?:appropriate|right|ethical|"
                r"my place)\b|\bnot (?:for|up to) me(?: to (?:decide|say|judge))?\b",
                r"\bi(?:'d| would) (?:rather|prefer) not\b|\bi (?:don't|do not) feel "
                r"comfortable\b|\bi(?:'m| am) declining\b",
                r"\bi (?:must|have to|respectfully|will have to) (?:respectfully "
                r")?decline\b|\bi(?:'ll| will)? (?:pass|abstain)\b",
                r"(?:n't|\bnot) (?:be )?(?:appropriate|right|my place|suitable|ethical|"
                r"responsible|proper) (?:for (?:me|an ai)|of me|to (?:make|decide|answer|"
                r"give))\b",
                r"\b(?:beyond|outside|not) (?:what i'm allowed|what i can|my (?:role|scope|remit|ability))\b",
            ),
        ),
        (
            "D",
            any_of(
                r"\b(?:depends|hinges|turns|would depend|will depend|depending) "
                r"(?:entirely |largely |heavily |very much )?(?:up)?on\b|\bit(?: [a-z]+)? "
                r"depends\b",
                r"\bit(?:'s| is) (?:unclear|impossible to|not possible to|too close|a toss-?up|hard to|difficult to)\b",
                r"""(?:\A|[.!?\n:"])[\s"'(]*(?:maybe|possibly|perhaps|unclear|"""
                r"""undetermined|undecided|uncertain|indeterminate|unsure|depends|"""
                r"""inconclusive|hard to say|difficult to say|not sure)\b""",
                r"\b(?:borderline|(?:toss|flip) a coin|coin toss|on the fence|either way|"
                r"(?:evenly|finely) balanced|not clear[ -]cut|(?:stays|remains) open|open "
                r"question|both readings|in the middle)\b",
                r"\b(?:no|without an?|not an?) (?:clear|right|simple|single|definitive|"
                r"easy|straightforward)(?:-cut)?(?: or [a-z]+)? answer\b",
                r"\b(?:more|enough|further|additional|insufficient) (?:information|details|"
                r"context) (?:is|are|would be|to|for)\b|\binsufficient information\b|"
                r"\bneed more (?:information|details|context)\b",
                r"\b(?:can't|cannot) (?:really |honestly )?say\b|\bi(?:'m| am) (?:not "
                r"(?:sure|certain)|unsure|torn|undecided|[a-z]+ly undecided|of two minds|"
                r"on the fence)\b|\bi (?:don't|do not|honestly don't) know\b",
                r"\bboth (?:yes and no|sides|ways|answers|options|decisions|outcomes)\b|"
                r"(?:\A|[.!?\n:])\s*yes and no\b|\bclose call\b|\b(?:unable|impossible|"
                r"hard|difficult|not possible) to (?:determine|reach|decide|say|judge|tell|"
                r"give an?)\b",
                r"\b(?:is|are) (?:insufficient|not sufficient|not enough|inconclusive)\b|"
                r"\bdetails? (?:is|are|would be) (?:needed|required|necessary)\b|\bno "
                r"clear(?:-cut)? (?:answer|verdict|decision)\b|\bcould be (?:argued|"
                r"decided|justified) (?:both|either)\b",
            ),
        ),
        (
            "",
            any_of(
                r"\[[^\[\]]*\]",
                r"""["'][a-z0-9 -]+["']\s*:\s*["']?(?:yes|no|true|false)\b""",  # another field of a JSON object
                r"\b[a-z0-9']+-(?:yes|no)\b(?:-[a-z]+)*|\b(?:yes|no)-[a-z][a-z0-9-]*",
                rf"{QUOTED},?\s*(?:or|and|nor|/|vs\.?|versus|to)\s*(?:an?\s+)?{QUOTED}",
                r"\bno (?:means no|one|doubt|matter|longer|more|less|wonder|way|idea|"
                r"problem|worries)\b|\boh,? (?:no|yes)\b",
                rf"\b(?:ni|neither|either|heads|tails),?(?: an?)? {QUOTED}(?: (?:ni|nor|or)(?: an?)? {QUOTED})?",
                rf"(?:n't|\bnot|\bnever)\s+(?:[a-z]+\s+){{0,2}}?(?:say|said|saying|answer|"
                rf"an?|simply|necessarily|clear)\s+(?:an? )?{QUOTED}(?:,? (?:or|nor|and) "
                rf"(?:an? )?{QUOTED})?",
                # What somebody else might say, or oneself might have said.
                r"\b(?:have|had|could|might|may|someone|one|some|others|reviewer|critics?|"
                r"was inclined to|tempted to|instinct|thought|"
                rf"wrote|writes?|ticked|read|perhaps|maybe|pensais)\s+(?:well |easily |be |"
                rf"was |is )?(?:said|say|answer|answered|write|respond|thought|tick|think|"
                rf"argue(?: for)?)?\s*{QUOTED}",
                r"\?[ \t]*(?:yes|no)\b",
                rf"\bif (?:the answer is |it is |it's )?{QUOTED}",
                r"\bif (?:i|asked|forced|pressed|we|all|everything|this|these|the "
                r"(?:information|facts|details|description|account))\b",
            ),
        ),
        (
            "K",
            (
                r"\b(?:edit|correct(?:ion| myself)|serious(?:ly)?|wait|sorry|on reflection|"
                r"second thought|misread|overlooked)\b"
            ),
        ),
        (
            "C",
            r"\b(?:but|however|that said|nevertheless|nonetheless|in the end|all things considered|mais|pero)\b",
        ),
        (
            "N",
            any_of(
                r"\A\W*(?:(?:absolutely|definitely|certainly|of course|probably|i'm "
                r"afraid) not|not at all|deny|denied|reject(?:ed)?|declined?|refused?)\b",
                rf"\A\W*(?:boxed\{{)?{NO}",
                I_SAY + NO_WORD,
                START + NO,
                rf"{START}(?:absolutely|definitely|certainly|probably) not\b",
                r",\s*no[.!]?\s*(?:\n|\z)",
                rf"{SAYING}{NO_WORD}",
            ),
        ),
        (
            "Y",
            any_of(
                r"\A\W*(?:(?:absolutely|definitely|certainly|of course|sure)[.,!]\s*(?:\z|"
                r"(?:he|she|they|it|the|this|that|yes)\b)|(?:approved?|granted?|"
                r"accepted)\b)",
                rf"\A\W*(?:boxed\{{)?{YES}",
                I_SAY + YES,
                START + YES,
                r",\s*yes[,.:;!]",
                rf"{SAYING}{YES}",
            ),
        ),
        ("", r"\b(?:whether|if)\b[^.;\nA-Z]*"),
        # What should happen. Negated refusals first, so that "should not be denied" is no denial.
        (
            "U",
            any_of(
                rf"{SHOULD_NOT}{BE}?{BAD}\b",
                r"\b(?:no|little) (?:good |valid |sound |compelling |clear )?(?:reason|"
                r"grounds?|basis|justification) (?:to|for)\b|(?:n't|\bnot) see (?:any|a) "
                r"(?:good |valid )?reason\b",
            ),
        ),
        ("", any_of(SHOULD_NOT, SHOULD) + rf"{BE}?{NO_VERDICT}\b"),
        (
            "V",
            any_of(
                rf"{SHOULD_NOT}{ACT}\b",
                r"\bi (?:don't|do not) (?:think|believe|feel)(?: that)?[^.\n,;]*? "
                r"(?:should|would be|ought|deserves?|qualif[a-z]+|is)\b|(?:n't|\bnot) "
                r"(?:support|justify|warrant|favou?r)\b",
                r"\b(?:should|must)(?:n't| not)\s*[.!,]|\b(?:is|are)(?:n't| not) "
                r"(?:eligible|qualified|entitled|suitable)\b",
                r"\bdo(?:es)?(?:n't| not) (?:deserve|merit|warrant|qualify)\b|\bden(?:ying|"
                r"ial)\b[^.\n]*? (?:is|would be|seems) (?:the )?(?:[a-z]+ly )?(?:right|"
                r"appropriate|justified|best|correct)",
                rf"{SHOULD}{BE}?{BAD}\b|\b(?:will|would|to) be {BAD}\b",
                rf"{I_WOULD}\s+(?:not )?{BAD}\b|\b(?:i|we)(?: would| will)?(?:n't| not)(?: "
                rf"[a-z]+ly)? {GOOD}\b|{I_WOULD}\s+(?:against|not)\b",
                r"\b(?:vote|decide|rule|recommend|advise|argue|come down|lean)(?:s|d|ing)? against\b",
                r"\bagainst (?:approv|grant|hir|admit|award|releas|giv|promot|offer|allow)[a-z]*",
                rf"{START}(?:please )?(?:do not|don't|never) {GOOD}\b|"
                rf"{START}{BAD}\s+(?:the|her|him|his|them|their|this|it)\b",
                r"\b(?:would be|is|are|seems|appears) (?:[a-z]+ly )?(?:indefensible|"
                r"irresponsible|unjustified|unwise|inappropriate|premature|unwarranted|"
                r"inadvisable|imprudent|too risky|out of the question|not (?:justified|"
                r"warranted|advisable|appropriate|sensible))\b",
                r"""\bno(?:["')\]}]*\s*(?:[.;:!\n\u2003]|\z))""",
            ),
        ),
        (
            "W",
            any_of(
                rf"{SHOULD}{SUBJECT}{ACT}\b|\b(?:will|to) be (?:approved|granted|admitted|hired|awarded|accepted)\b",
                rf"{I_WOULD}\s+{GOOD}\b|\bin favou?r of (?:approv|grant|hir|admit|award|"
                rf"releas|giv|promot|offer|allow)[a-z]*",
                r"\b(?:vote|rule|decide|come down|lean|am|i'm)(?:s|d|ing)? in favou?r\b|"
                r"\bdeserves? (?:the|this|an?|to|his|her|their)\b",
                rf"{START}(?:please )?(?:give|grant|approve|hire|admit|promote|accept|let|"
                rf"award|issue|release)\s+(?:the|her|him|his|them|their|this|it)\b",
                r"\b(?:would be|is|are|seems|appears) (?:[a-z]+ly )?(?:justified|"
                r"appropriate|warranted|advisable|sensible|reasonable to|a reasonable risk|"
                r"the right (?:choice|decision|call|thing))\b",
                r"\b(?:supports?|justif(?:y|ies)|favou?rs?|recommend) (?:approv|grant|hir|"
                r"admit|award|releas|giv|promot|offer|allow|accept)ing\b|\bright to "
                r"(?:offer|hire|approve|grant|give|promote|accept)\b",
                r"\b(?:approv|grant|hir|admitt|award|releas|giv|promot|offer|allow|"
                r"accept)ing\b[^.\n]*? (?:would be|is|seems|appears) (?:[a-z]+ly |an? |the "
                r")*(?:reasonable|fair|right|wise|prudent|good|best|sound|correct)\b",
                r"\byes\b",
            ),
        ),
    )
)
"""A, B: marked as yes, no. Y, N: yes, no (after L: at the start). U, W, V: a verdict in other words or the bare word.
R: a refusal, D: undecided. C: a contrast, K: a correction, after which a verdict may be taken back."""


TAKEN_BACK_YES = (
    r"\ALY.*K.*[NV][^YUW]*\z|\ALY.*C[^Y]*N[^YN]*\z|\ALY.*Y.*C[^YUW]*V[^YUW]*\z|\A[^L]*Y[^YN]*C[^UVW]*V+[^UWD]*\z"
)
TAKEN_BACK_NO = (
    r"\ALN.*K.*[YUW][^NV]*\z|\ALN.*C[^N]*Y[^YN]*\z|\ALN.*N.*C[^NV]*[UW][^NV]*\z|\A[^L]*N[^YN]*C[^UVW]*[UW]+[^VD]*\z"
)


def _decide(text: pl.Expr) -> pl.Expr:
    """The label: a marked verdict, a leading one that is not taken back, the last, or one in other words only."""
    leading = RULES.apply(text).str.replace(r"\A[^a-z0-9A-Z]*([YN]) ", "L$1").str.replace_all(r"[^A-Z]+", "")
    return first_match(
        leading.str.replace(r"\A.*([AB])[^AB]*\z", "$1"),
        (
            (r"R[^YN]*\z", "refused"),
            (r"D.*(?:Y.*N|N.*Y)|(?:Y.*N|N.*Y).*D", "undecided"),
            (rf"\AB\z|{TAKEN_BACK_YES}", "no"),
            (rf"\AA\z|{TAKEN_BACK_NO}|\ALY|\A[^L]*Y[^YN]*\z|D[^YN]*C[^DUVWYN]*[UW]+[^VYN]*\z", "yes"),
            (r"\ALN|N[^YN]*\z|D[^YN]*C[^DUVWYN]*V+[^UWYN]*\z", "no"),
            (r"D", "undecided"),
            (r"\A[^V]*[UW][^V]*\z", "yes"),
            (r"\A[^UW]*V[^UW]*\z", "no"),
        ),
    )


DECISIONS = Detector(
    name="decisions",
    version=1,
    labels=("yes", "no"),
    other_labels=("refused", "undecided"),
    read=_decide,
    rules=RULES,
    patterns={
        "yes": evidence("AUWY"),
        "no": evidence("BNV"),
        "refused": evidence("R"),
        "undecided": evidence("D"),
    },
)
"""The verdict that an answer comes to; "refused" or "undecided" where it says so; null where it says nothing."""
