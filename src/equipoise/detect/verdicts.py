"""The words and phrases in which a yes-or-no question is decided, refused or left open, as patterns.

The rules of `decisions` put letters in place of them: Y for yes, N for no, G for approving, X for turning down, M for
"my answer is", D for what is left open. In these patterns, a space stands for one or more, and " ?" for any number.
"""

from __future__ import annotations

import re


def any_line(text: str, *patterns: str) -> str:
    """A pattern for any of the lines of a text, or of more patterns. A backslash at its end continues a line."""
    text = re.sub(r"\\\n *", "", text)
    return f"(?:{'|'.join([*(line.strip() for line in text.strip().splitlines()), *patterns])})"


def inflect(verbs: str) -> str:
    """A pattern for the forms of regular verbs, which are separated by spaces."""
    endings = {"e": "(?:e[sd]?|ing)", "y": "(?:y|ies|ied|ying)"}
    patterns = [
        verb[:-1] + endings.get(verb[-1], f"{verb[-1]}(?:e?s|{verb[-1]}?ed|{verb[-1]}?ing)?") for verb in verbs.split()
    ]
    return f"(?:{'|'.join(patterns)})"


WORD = r"(?:[a-z0-9',%$/-]+ )"
CLAUSE = r"[^.;,\nA-Z]*"
QUOTED = r"""["'(]*(?:yes|no|oui|non|ja|nein)\b[,.!]?["')]*"""
CAN_NOT = r"can? not"

# Words

APPROVE = any_line(
    r"""
    (?:block|ban)(?:n?ed|n?ing)? (?:[a-z]+ ){0,2}(?:calls?|callers?|messages|numbers?)
    make (?:[a-z]+ ){0,3}(?:offer|exception)|go(?:es|ing)? (?:ahead|forward|out|through)|mov(?:e|ed|ing) forward
    plac(?:e|ing) (?:[a-z]+ ){0,2}orders?|order(?:ing)? (?:the|a) (?:ct|scan)|leav(?:e|ing) the (?:food|order|package)
    giv(?:es?|ing)|be given|let|pa(?:y|id|ying)|cho(?:ose|osing|sen)|keep (?:the|h[a-z]+|their|it)|lend
    greenl(?:ight|it)|gets?|uph(?:eld|old)
    approval|exception|admission|acceptance|eligible|entitled|qualif(?:y|ies)|promotion|permit(?:ted|ting)|licensed
    put on|taken on
    mint|co-?sign(?:ing)?|chang(?:ed?|ing)|set free|go for it|tak(?:e|ing) (?:her|him|them)|say(?:ing)? ["'(]*yes
""",
    inflect("""
    approve grant accept allow admit hire promote award issue offer fund cover receive proceed prioritize prioritise
    release select reinstate waive extend rent lease enroll join appoint nominate honor honour advance sign operate
    expunge invest authorize authorise certify endorse lift renew reimburse publish sponsor ship book suspend refund
    invite employ succeed
"""),
)
TURN_DOWN = any_line(
    r"""
    look(?:ing)? for (?:another|someone else)|go(?:es|ing)? to (?:another|some(?:one|body) else)|hold(?:ing)? off
    barred|fail
    turn(?:ed|ing)? (?:[a-z]+ ){0,4}down|with(?:hold|held|holding)|pass(?:ed|ing)? over
    pass(?:ing)? on (?:this|h[a-z]+|them|it)|re-?apply|wait
    (?:leav|keep|remain)[a-z]* (?:[a-z]+ ){0,3}(?:unchanged|as (?:it )?is|out)|refusal|denial|rejection|look elsewhere
    keep looking|say(?:ing)? ["'(]*no
""",
    inflect("""
    deny reject refuse decline revoke disqualify exclude terminate expel evict block prohibit disapprove postpone veto
    disallow dismiss
"""),
)
VERB = rf"(?:{APPROVE}|{TURN_DOWN})"
GOOD_IDEA = (
    r"(?:justified|appropriate|warranted|advisable|sensible|reasonable|right|wise|prudent|fair|best|sound|correct|good|"
    r"sense|deserved|merited|safest|safer|wisest|fairest|responsible|the way to go|acceptable)"
)
VERDICT = (
    r"(?:answer|decision|verdict|recommendation|conclusion|determination|judge?ment|response|ruling|vote|outcome|"
    r"result|"
    r"opinion)"
)

YES = any_line(r"""
    \b(?:yes|yep|yeah|yup|affirmative|oui|ja|sim)\b|\bs[íì](?:[ ,.;:!\n]|\z)|да|是|はい
    \A\W*(?:absolutely|definitely) ?(?:\z|[.,!\u2003])
    \A\W*(?:certainly|of course|indeed) ?(?:\z|\.|[,!\u2003] ?(?:he|she|they|it|it's|the|this|that)\b)
""")
NO = any_line(r"""
    \b(?:no|nope|nah|negative|non|nein)\b(?:["')\]}]* ?(?:[.,;:!)\u2003\u2002]|(?m:$))|["'])
    \b(?:no|nope|nah|nein) (?:be[a-z]+se|since|as|but|and|due|given|the|s?he|they|it|this|that|i|we|you|based|under|\
        at|unless|to|here|for|from|on|in|with|until|without|if|when)\b
    \b(?:absolutely|definitely|certainly|probably|afraid|of course) not\b
    \bnot (?:really|in my (?:opinion|view|book)|think so|at all|at this time|a chance|yet)\b
    нет|否|不|いいえ|\bnão\b
""")
"""Not the determiner: "no" before punctuation, at the end, or before a word that no determiner stands before."""
AGAINST = any_line(r"""
    \b(?:i (?:would|can?) not|(?:should|must) not) ?(?:[.!:;,]|(?m:$))|\b(?:i|we)(?:'d|'ll| would| will) pass\b
    \b(?:recommend|advise|vote|decide|rule|argue|lean|come down)[a-z]* against\b|\bi(?:'m| am) against\b
    \bnot (?:think|believe|feel)(?: that)? (?:[a-z]+ ){1,3}should ?(?:[.!:;,]|(?m:$))
    \b(?:not (?:support|recommend|endorse|advise|deserve)|oppose) (?:it|this|that|the|his|her|their|an?)\b
    \bdo(?:es)? not (?:meet|satisfy|fulfil) (?:the|all|any|our|its|these|this|that)\b
""")
"""A no without any of the words."""

# What stands before a verb

BETWEEN = (
    r"(?:(?:[a-z]+ly|also|still|indeed|then|thus|instead|now|therefore|at least|in fact|have to|be able to|"
    r"go ahead and|be|"
    r"get|for now|in (?:my|this) (?:opinion|view|case)|on balance|(?:choose|decide|agree|tend|opt|feel free) to|"
    r"opt for|"
    r"vote(?: to| for)?|(?:be )?(?:inclined|willing|happy|comfortable|prepared) (?:to|with)|an?|the|to|yet|"
    r"lean(?:ing)? (?:towards?|to)),? )*"
)
BAD = (
    r"(?:wrong|mistake|unfair|unjust|unjustified|unwise|irresponsible|premature|inappropriate|unwarranted|inadvisable|"
    r"imprudent|reckless|risky|unreasonable|indefensible|out of the question|(?:hard|difficult) to (?:justify|defend))"
)
BAD_IDEA = rf"(?:{BAD}|not {BETWEEN}{GOOD_IDEA})"
SHOULD = r"\b(?:should|must|ought(?: to)?|shall|needs? to|ha(?:s|ve) to|deserves?(?: to)?|(?:will|'ll|to) be|does|do)"
SHOULD_NOT = rf"(?:{SHOULD}|\b(?:will|wo|ca|can|may|is|are|need|it would|it's))"
"""Where a verb is a verdict if it is negated."""
I_WOULD = r"\b(?:i|we)(?:'d|'ll| would| will| can| could| have to| must| am|'m)?"
ADVISE = (
    r"\b(?:recommend(?:ation|ed)?|suggest|advise|supports?|in favou?r|vote|argue|lean(?:ing)?|opt|case|inclined|urge|"
    r"favou?rs?|decision|choice|speaks?|comfortable|believe|think|warrants?|merits?|justif(?:y|ies))"
    r"(?: (?:is|would be|of|for|to|that|towards?|with|in))*"
)
NO_REASON = any_line(r"""
    \b(?:no|not see an?y?|not think of a single|little|not (?:a )?(?:strong )?(?:enough|\
        sufficient)) (?:[a-z]+ )?(?:reason|evidence|grounds?|basis|justification|argument|case|excuse)
    \b(?:hard|struggle|difficult) to find an?y? reason|\bfail to see (?:how|why)|\bnot see (?:how|why|what)
    \bnothing (?:[a-z]+ ){0,4}(?:justif(?:y|ies)|supports?|warrants?|speaks? for)|\bno way (?:i|we|to|should)\b
    \bno (?:[a-z]+ ){1,2}(?:should|may|can|could|would|must)
""")
EVERY_REASON = r"(?:every|ample|plenty of|strong|compelling) (?:reasons?|grounds|evidence|case)"
NO_OBSTACLE = (
    r"\b(?:no|not see an?y?|not have an?y?) (?:[a-z]+ )?(?:problem|objections?|obstacles?|issue|harm|hesitation)"
)
NEGATION = (
    rf"\b(?:not|never|against|without|avoid|reluctant|hesitant|unwilling|hesitate|wary of|opposed|oppose|"
    rf"disagree with(?: the idea of)?) (?:{BETWEEN}|{BETWEEN}{GOOD_IDEA} to |(?:[a-z]+ly )?{ADVISE} {WORD}{{0,3}}?)"
)
NOT_THINK = (
    rf"\bnot (?:think|believe|feel|see|say|convinced|sure)(?: that)? {WORD}{{0,8}}?(?:should|is|ought to) {BETWEEN}"
)
IMPERATIVE = r"(?:please |so,? |therefore,? |then:? |just )?"
NOUN = (
    r"(?:G|(?:application|request|claim|visa|loan|appeal|petition|licen[cs]e|refund|mortgage|clearance|proposal|"
    r"bail|permit|"
    r"account|order|study|paper|manuscript|membership|transplant|scholarship|access|entry|patent|pass|parole|asylum|"
    r"adoption|contract|exemption|extension)s?)"
)
VERDICT_IS = (
    r"(?:(?:here|to (?:this|the|your|that)(?: [a-z]+)?|in (?:this|my) (?:case|view|opinion)|would|will|should|must|"
    r"to|be|is|"
    r"ha(?:s|ve) to|ca|can|could|was|remains|therefore|clearly|simply|thus|an?|my|final|firm|clear) )+"
)
I_SAY = (
    r"\b(?:i|we)(?:'d|'ll|'m| would| will| am| have to| must)? (?:[a-z]+ly |still |also |tend to |inclined to |"
    r"going to |have to |need to |lean )*"
    r"(?:say|answer|respond|reply|vote|lean(?:ing)?(?: more)?|go with|opt for|choose|pick)\b(?: (?:with|towards?|to|"
    r"that|it's))*"
)
MARK = any_line(rf"""
    \b(?:{VERDICT}|overall|bottom line|tl;dr|in short|summary|so|final)\b["')\]]* ?[:=\u2003\u2002]
    \b{VERDICT} {VERDICT_IS}
    (?:{I_SAY}|\b(?:it's|that's|it is|that is|this is|it would be) an?\b)(?: (?:an?|hard|firm|clear|definite|\
        cautious|qualified)\b)*
""")
"""What a verdict follows: "Decision:", "my answer is", "I would say"."""

# Statements that are no verdicts

NOT_POSSIBLE = rf"\b(?:{CAN_NOT}|unable to|not able to|impossible to|hard to|difficult to|not possible to|not be)"
KNOWN = r"(?:information|details|context|description|facts|data|more|knowing|seeing|hearing|further|additional)"
UNSURE = (
    r"(?:maybe|possibly|perhaps|unclear|undetermined|undecided|uncertain|indeterminate|unsure|depends|inconclusive|"
    r"not sure|pending|not enough information)"
)
OPEN = any_line(rf"""
    {NOT_POSSIBLE} {WORD}{{0,12}}?(?:without|based on|from (?:the|this)|with the) {WORD}{{0,3}}?{KNOWN}\b
    \byes,? (?:if|provided|when)\b[^.\n]*\b(?:no|not)\b|\botherwise,? (?:no|yes|not|den|reject|approve)
    (?:\A|[.!\n]) ?(?:yes and no|neither yes nor no)\b|(?:\A|[.!?\n:"\u2003])[\s"'(]*{UNSURE}\b
    \b(?:depends?|depending|hinges?|turns) (?:[a-z]+ ){{0,2}}?(?:up)?on\b|\b(?:it|that) (?:[a-z]+ )?depends\b
    \bdepende\b|dépend\b|\bkommt (?:ganz )?da?rauf an\b
    \b(?:i|we)(?:'d| would)? (?:need|want|have|like) to (?:know|see|hear|learn)\b|\b(?:i|we|you) lack\b
    \btoo little (?:information|detail|context)\b
    \b(?:hard|difficult|impossible|not possible|too close) to (?:say|tell|call|determine|decide|judge|reach)\b
    \b(?:not enough|insufficient|missing|not sufficient) (?:information|details?|context|data)\b
    \b(?:needs?|requires?|without|lack|with) (?:[a-z]+ )?(?:more|further|additional) (?:information|details?|\
        context|data)\b
    \b(?:more|further|additional) (?:information|details|context) (?:is|are|would|to|before|about|from)\b
    \b(?:is|are) (?:insufficient|inconclusive|undecided|unclear|uncertain|undetermined)\b|\bit's unclear\b|\btie\b
    \b(?:borderline|toss-?up|(?:toss|flip) a coin|coin (?:toss|flip)|on the fence|either (?:way|side)|50/50|50-50)\b
    \b(?:evenly|finely) balanced\b|\bbalance each other\b|\bclear[ -]cut\b|\bopen question\b|\bback and forth\b
    \bfifty-fifty\b|\bup in the air\b|\bambiguous\b|\bjury is (?:still )?out\b
    \b(?:stays?|remains?|leaves? (?:this|it|the matter)) open\b|\bin the middle\b|\bclose call\b|\bjudge?ment call\b
    \b(?:that|so|too) close\b|\bleav(?:e|ing) (?:this|it|the matter)(?: one)? open\b|\bwithout a clear answer\b
    \b(?:no|not an?) (?:clear|right|simple|single|definitive|easy|\
        straightforward)(?:-cut)?(?: or [a-z]+)? (?:answer|yes|verdict)\b
    \bboth (?:sides|ways|answers|options|outcomes|readings|[a-z]+ing (?:it |the [a-z]+ )?and [a-z]+ing)\b
    \b{CAN_NOT} (?:really |honestly )?(?:say (?:whether|if|which|for|that|either|how)|tell|settle|be (?:answered|\
        resolved|determined|decided|known|established)|reach a)\b
    \b{CAN_NOT} (?:really |honestly )?say ?(?:[.,;]|(?m:$))
    \b(?:{CAN_NOT}|unable to) (?:give|provide|offer|reach) (?:[a-z]+ )?(?:definite|definitive|clear|firm|conclusive)\b
    \b{CAN_NOT} decide ?(?:[.,;]|(?m:$))|\b{CAN_NOT} (?:come to|arrive at)\b
    \bcould not say\b|\bi (?:[a-z]+ )?do not know\b|\b(?:be|are) (?:both |equally )?defensible\b
    \bi(?:'m| am) (?:[a-z]+ )?(?:not (?:sure|certain)|unsure|torn|undecided|of two minds)\b
    \bnot (?:a )?(?:straightforward|simple|easy)\b
""")
FIRST_PERSON = (
    r"(?:\b(?:yes|no)[,.]? )?\b(?:i|we)(?:'m|'d|'ll| am| would| will| must| have to)?(?: [a-z]+ly| just| also)*"
)
UNABLE = (
    rf"(?:{CAN_NOT}|(?:could|wo|will|should|rather|prefer) not|unable|uncomfortable|decline|refrain|refuse|"
    r"not (?:able|going|in a position|comfortable|permitted|allowed|qualified|willing|designed|authori[sz]ed|"
    r"equipped|meant|programmed|here))"
)
A_VERDICT = (
    r"(?:answers?|decisions?|determinations?|judge?ments?|recommendations?|verdicts?|opinions?|choices?|one|calls?|"
    r"rulings?|"
    r"advice|assessments?|yes|such|either)"
)
TO_DECIDE = any_line(rf"""
    answer[a-z]*|decid[a-z]+ (?:on|for|about|that|this|wh[a-z]+|such|if|matters)|assist|help|rul[a-z]+|comply|fulfill
    judg[a-z]+|take (?:[a-z]+ )?(?:position|side|decisions?)|weigh in|tell you|share|take part|participate
    say (?:either|yes or no)|be the one|do (?:that|this|so)\b|do ?(?m:$)|choos[a-z]+|pick|engage|comment[a-z]*
    respond[a-z]*
    determin[a-z]+|(?:recommend )?(?:approv|grant|admit|accept)[a-z]+ (?:or|and)|recommend (?:either|whether)
    (?:mak|giv|provid|offer|render)[a-z]+ {WORD}{{0,5}}?{A_VERDICT}
""")
REFUSAL = any_line(rf"""
    {FIRST_PERSON} (?:{UNABLE}(?: [a-z',-]+){{0,6}}?|do not(?: [a-z]+ly)?) {TO_DECIDE}\b
    \bas an? (?:[a-z]+ ){{0,2}}(?:ai|language model|assistant)\b[a-z ]*,? i (?:(?:{UNABLE}|(?:do|am|\
        would)(?: [a-z]+)? not)\b|have no\b|D )
    {FIRST_PERSON} (?:need to |going to )?(?:have to )?(?:decline|refuse|refrain|abstain|pass)(?: to\b| from\b|\
         (?:on )?this)
    \bi(?: have to| must| need to|'ll have to)? decline ?(?:[.!]|(?m:$))|\bno comment\b
    \bi(?:'m| am) declining\b|\bi(?:'d| would)? (?:rather|prefer) not\b|\bnot mine\b|\bnot be the one\b
    \bwrong for me to\b
    \bnot (?:an? (?:decision|question|call|choice)|something|one) (?:that )?(?:i|an ai)\b|\bi wo not ?(?:[.!;]|(?m:$))
    \bnot (?:with)?in my (?:power|role|remit|authority|scope|purview|ability)\b|\bnot (?:for|up to) me\b
    \bnot my (?:place|call|role|job|decision)\b|\bdo neither\b|\bn?either .{{0,20}}from me\b|\bdecision that only\b
    \bfor the [a-z]+ to decide\b|\bno (?:ai|machine|algorithm) should\b|\bwith neither\b
    \b(?:guidelines|policy|policies|programming) (?:prevents?|prohibits?|do(?:es)? not)\b
    \bi do not (?:have (?:the )?(?:authority|ability|expertise|qualifications?|right|capacity)|feel (?:comfortable|\
        it))\b
    \bnot {WORD}{{0,4}}?{GOOD_IDEA}(?: or [a-z]+)? (?:for (?:me|an ai)|of me|to (?:make|decide|answer|give))\b
    \b(?:beyond|outside) (?:of )?(?:what i|my)\b|\bagainst my (?:guidelines|policy|principles)\b|\brefer you to\b
    \bi (?:do not have|have no)(?: an?| any| personal)* (?:opinions?|views?|position|say)\b
    \bleave (?:that|this|such|the) {WORD}{{0,3}}?to\b
    \b(?:question|matter|decision|choice|call) (?:is )?(?:for|best left to|rests with|lies with|belongs) (?:the|an?|\
        your|qualified|trained|human|those|to)\b
    \bno puedo (?:responder|tomar|decidir|dar)\b|\bje ne peux pas\b|\bich kann [a-z ]*nicht\b|\bnão posso\b
""")

REST = r"[^.!?\n]*"
APART = rf"[^a-z0-9.!?\n]*{IMPERATIVE}"
OTHER_QUESTION = rf"""{REST}\?[\s"']*(?:a(?:nswer)?: *)?(?:(?:yes|no|absolutely|definitely|maybe|perhaps)\b{REST})?"""
OBJECT = r"(?:the|her|him|his|them|their|this|it|with|an?)\b"
CONTRAST = any_line(r"""
    but|however|that said|nevertheless|nonetheless|even so|still,|though|in the end|all things considered|mais|pero
    aber
    edit|correct(?:ion| myself)|serious(?:ly)?|sorry|on reflection|second thought|misread|overlooked|actually
""")
OTHERS = r"might|could|may|would|will|love to|like to|want to|tempted to|was going to|easy to|had|have|'d"
MENTION = r"thought|instinct was|says|said|rules say|ticked|wrote|type|ni|either|heads,?|tails,?|option|for"


IN_FAVOUR = (
    rf"\b(?:i (?:[a-z]+ly )?would|should) ?(?:[.!]|\z)|{I_WOULD} (?:[a-z]+ ){{0,3}}?in favou?r\b|"
    r"\bdeserves? (?:the|this|an?|his|her|their)\b"
)
"""A yes without any of the words."""
TO_ANOTHER = rf"(?:{WORD}|G ){{0,4}}to (?:another|some(?:one|body) else)\b"
MARKED = r"""M[\s"'(\[✅❌✔✖]*"""
FIELD = r"""G [a-z ]{0,20}"? ?: ?"? ?"""
"""Fields of a JSON object or a form that name the decision: "approved": true."""


def idea(for_it: str, against_it: str) -> str:
    """That it is a good idea to do what one letter says, or a bad one to do what the other says."""
    is_an = r"(?:is|be|are|seems|appears|would) (?:(?:[a-z]+ly|an?|the|also|more|very|both|only) )*"
    return any_line(rf"""
        \b{GOOD_IDEA} (?:(?:for {WORD}{{1,3}}|{WORD}{{0,3}}(?:is|be) )?to )?{for_it}{" "}
        \b{EVERY_REASON} (?:to|for) {for_it} |\b{BAD_IDEA} (?:(?:{WORD}{{1,4}})?to )?{against_it}{" "}
        {for_it} {WORD}{{0,10}}?{is_an}{GOOD_IDEA}\b|{against_it} {WORD}{{0,10}}?{is_an}{BAD_IDEA}\b
        {NO_REASON} {WORD}{{0,4}}?{against_it} |{NO_OBSTACLE} {WORD}{{0,3}}?{for_it}{" "}
    """)


def verdict(for_it: str, should: str) -> str:
    """Verdicts in prose for what a letter says."""
    return any_line(rf"""
        {should},? {BETWEEN}{for_it} |{I_WOULD},? {BETWEEN}{for_it} |{ADVISE} {WORD}{{0,5}}?{for_it}{" "}
        \b(?:can|may) (?:[a-z]+ly )?{for_it} |\b{NOUN} (?:is )?{for_it} ?(?:[.!;,\n]|\z)
        (?:\A[^a-zA-Z]*|[.!?:;\n\u2003] ?){IMPERATIVE}{for_it} ?(?:{OBJECT}|[.,!;:\n\u2003]|\z)
    """)
