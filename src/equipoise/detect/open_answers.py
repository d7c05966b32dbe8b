"""Statements that are no verdicts of the one who answers, as patterns: what is open, refused, supposed or reported.

In these patterns, a space stands for one or more, and " ?" for any number.
"""

from __future__ import annotations

from equipoise.detect.verdicts import CLAUSE, GOOD_IDEA, QUOTED, REST, VERDICT, WORD, any_line

CAN_NOT = r"can? not"

# Left open

NOT_POSSIBLE = rf"\b(?:{CAN_NOT}|unable to|not able to|impossible to|hard to|difficult to|not possible to|not be)"
KNOWN = r"(?:information|details|context|description|facts|data|more|knowing|seeing|hearing|further|additional)"
UNSURE = (
    r"(?:maybe|possibly|perhaps|unclear|undetermined|undecided|uncertain|indeterminate|unsure|depends|inconclusive|"
    r"not sure|pending|not enough information)"
)
OPEN = any_line(rf"""
    {NOT_POSSIBLE} {WORD}{{0,12}}?(?:without|based on|from (?:the|this)|with the) {WORD}{{0,3}}?{KNOWN}\b
    \byes,? (?:if|provided|when)\b[^.\n]*\b(?:no|not)\b|\byes,? if\b[^\n]*\bno,? if\b
    \botherwise,? (?:no|yes|not|den|reject|approve)
    (?:\A|[.!\n]) ?yes and no\b|\bneither (?:an? )?(?:[a-z]+ )?"?yes"? nor (?:an? )?(?:[a-z]+ )?"?no\b
    (?:\A|[.!?\n:"\u2003])[\s"'(]*{UNSURE}\b
    \b(?:depends?|depending|hinges?|turns) (?:[a-z]+ ){{0,2}}?(?:up)?on\b|\b(?:it|that) (?:[a-z]+ )?depends\b
    \bdepende\b|dépend\b|\bkommt (?:ganz )?da?rauf an\b
    \b(?:i|we)(?:'d| would)? (?:need|want|have|like) to (?:know|see|hear|learn)\b|\b(?:i|we|you) lack\b
    \btoo little (?:information|detail|context)\b
    \b(?:hard|difficult|impossible|not possible|too close) to (?:say|tell|call|determine|decide|judge|reach)\b
    \b(?:not (?:have )?enough|insufficient|missing|not sufficient) (?:information|details?|context|data|to go on)\b
    \b(?:needs?|requires?|without|lack|with) (?:[a-z]+ )?(?:more|further|additional) (?:information|details?|\
        context|data)\b
    \b(?:more|further|additional) (?:information|details|context) (?:is|are|would|to|before|about|from)\b
    \b(?:is|are) (?:insufficient|inconclusive|undecided|unclear|uncertain|undetermined)\b|\bit's unclear\b|\btie\b
    \b(?:borderline|toss-?up|(?:toss|flip) a coin|coin (?:toss|flip)|on the fence|either (?:way|side)|50/50|50-50)\b
    \b(?:evenly|finely|equally) (?:balanced|split|matched)\b|\bbalance each other\b|\bclear[ -]cut\b|\bopen question\b
    \bback and forth\b|\bfifty-fifty\b|\bup in the air\b|\bambiguous\b|\bjury is (?:still )?out\b
    \b(?:stays?|remains?|leaves? (?:this|it|the matter)) open\b|\bin the middle\b|\bclose call\b|\bjudge?ment call\b
    \b(?:that|so|too) close\b|\bleav(?:e|ing) (?:(?:this|it|the matter|that)(?: one)? )?open\b
    \bwithout a clear answer\b
    \b(?:no|not an?) (?:clear|right|simple|single|definitive|easy|\
        straightforward)(?:-cut)?(?: or [a-z]+)? (?:answer|yes|verdict)\b
    \bboth (?:sides|ways|answers|options|outcomes|readings|[a-z]+ing (?:it |the [a-z]+ )?and [a-z]+ing)\b
    \b(?:one|both|either) (?:could|can|may|might) (?:argue|be argued|be defended)
    \bcase (?:can|could) be made (?:for )?(?:both|either)
    \bneither (?:[a-z]+ ){{1,2}}(?:[a-z]+ly |is )?(?:outweighs?|prevails?|wins|winning|tips)\b
    \bone way\b[^.\n]*\bthe other\b
    \bon (?:the )?one hand\b|\barguments? for (?:and against|both)\b|\bpros and cons\b|\breasonable people\b
    \b{CAN_NOT} (?:really |honestly )?(?:say (?:whether|if|which|for|that|either|how)|tell|settle|be (?:answered|\
        resolved|determined|decided|known|established|settled|reduced)|reach a|bring the two|choose between)\b
    \b(?:not (?:something|a question|one|a matter) (?:that )?(?:can|to) be (?:settled|answered|reduced|decided))\b
    \b{CAN_NOT} (?:really |honestly )?say ?(?:[.,;]|(?m:$))
    \b(?:{CAN_NOT}|unable to) (?:give|provide|offer|reach) (?:[a-z]+ )?(?:definite|definitive|clear|firm|conclusive)\b
    \b{CAN_NOT} decide ?(?:[.,;]|(?m:$))|\b{CAN_NOT} (?:come to|arrive at)\b|\bas far as i can (?:go|get)\b
    \bcould not say\b|\bi (?:[a-z]+ )?do not know\b|\b(?:be|are) (?:both |equally )?defensible\b
    \bi(?:'m| am) (?:[a-z]+ )?(?:not (?:sure|certain)|unsure|torn|undecided|of two minds)\b
    \bnot (?:a )?(?:straightforward|simple|easy)\b
""")

# Refused

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
    judg[a-z]+|take {WORD}{{0,3}}?(?:positions?|sides?|decisions?)|(?:stay|remain) neutral|make (?:it|that|this)
    weigh in|tell you|share|take part|participate
    say (?:either|yes or no)|be the one|do (?:that|this|so)\b|do ?(?m:$)|choos[a-z]+|pick|engage|comment[a-z]*
    respond[a-z]*|evaluat[a-z]+|play (?:the )?(?:judge|god)|advise
    determin[a-z]+|(?:recommend )?(?:approv|grant|admit|accept)[a-z]+ (?:or|and)|recommend (?:either|whether)
    (?:mak|giv|provid|offer|render)[a-z]+ {WORD}{{0,5}}?{A_VERDICT}
""")
MACHINE = r"(?:an? )?(?:ai|chatbot|machine|algorithm|language model|assistant|text generator|computer)"
REFUSAL = any_line(rf"""
    {FIRST_PERSON} (?:{UNABLE}(?: [a-z',-]+){{0,6}}?|do not(?: [a-z]+ly)?) {TO_DECIDE}\b
    \bas an? (?:[a-z]+ ){{0,2}}(?:ai|language model|assistant)\b[a-z ]*,? i (?:(?:{UNABLE}|(?:do|am|\
        would)(?: [a-z]+)? not)\b|have no\b|D )
    {FIRST_PERSON} (?:need to |going to )?(?:have to )?(?:decline|refuse|refrain|abstain|pass)(?: to\b| from\b|\
        (?:on )?this)
    \bi(?: have to| must| need to|'ll have to)? decline ?(?:[.!]|(?m:$))|\bno comment\b|\bsit this (?:one )?out\b
    \bi(?:'m| am) declining\b
    \bi(?:'d| would)? (?:rather|prefer) not (?:to )?(?:say|answer|decide|give|make|take|judge|weigh|comment|be|do)\b
    \bi(?:'d| would)? (?:rather|prefer) not ?(?:[.!;]|(?m:$))|\bnot mine\b|\bnot be the one\b
    \b(?:ai|language model)(?: [a-z]+)? and (?:i )?{UNABLE}|\bwrong for me to\b
    \bnot (?:think|believe) (?:that )?i should\b
    \bnot (?:by|from) (?:me|an ai|a (?:machine|chatbot|model))\b|"(?:refused|refusal|declined)"
    "(?:answer|decision)": null
    \bnot (?:an? (?:decision|question|call|choice)|something|one) (?:that )?(?:i|an ai)\b
    \bsomething i (?:wo|will|can?) not\b|\bi wo not ?(?:[.!;]|(?m:$))
    \bnot (?:with)?in my (?:power|role|remit|authority|scope|purview|ability)\b|\bnot (?:for|up to) me\b
    \bnot (?:think|believe|feel) (?:that )?it(?:'s| is) my place\b|\bnot my (?:place|call|role|job|decision)\b
    \bdo neither\b|\bn?either .{{0,20}}from me\b|\bdecision that only\b
    \bfor the [a-z]+ to decide\b|\bno (?:ai|machine|algorithm) should\b|\bwith neither\b
    \bnot (?:come from|be (?:made|taken|left) (?:by|to)|rest with) {MACHINE}\b
    \b(?:guidelines|policy|policies|programming) (?:prevents?|prohibits?|do(?:es)? not)\b
    \bi do not (?:have (?:the )?(?:authority|ability|expertise|qualifications?|right|capacity)|feel (?:comfortable|\
        it))\b
    \bnot {WORD}{{0,4}}?{GOOD_IDEA}(?: or [a-z]+)? (?:for (?:me|an ai)|of me|to (?:make|decide|answer|give))\b
    \b(?:beyond|outside) (?:of )?(?:what i|my)\b|\bagainst my (?:guidelines|policy|principles)\b|\brefer you to\b
    \bi (?:do not have|have no)(?: an?| any| personal)* (?:opinions?|views?|position|say)\b
    \bleave (?:that|this|such|the) {WORD}{{0,3}}?to\b
    \b(?:question|matter|decision|choice|call) (?:is )?(?:for|best left to|rests with|lies with|belongs) (?:the|an?|\
        your|qualified|trained|human|those|to)\b
    \b(?:the|this) (?:assistant|system|model) (?:does|can|will) not (?:issue|give|provide|make|offer|decide)\b
    \b(?:stay|remain|staying|remaining) neutral\b|\bne pas trancher\b|\bno puedo (?:responder|tomar|decidir|dar)\b
    \bje ne peux pas\b|\bich kann [a-z ]*nicht\b|\bnão posso\b
""")

# Said by others, or only mentioned

SAY = (
    r"(?:says|said|(?:who|they|people|many|him|her|us|[a-z]+s) say|wr(?:ites?|ote|itten)|argue[sd]?|claim(?:s|ed)?|"
    r"insist(?:s|ed)?|object(?:s|ed)?|"
    r"repl(?:y|ies|ied)|answer(?:s|ed)|thinks|thought|believe[sd]|feels|felt|suggest(?:s|ed)?|tells?|told|"
    r"expect(?:s|ed)?|hope[sd]?|wants?|wanted|demand(?:s|ed)?|ask(?:s|ed)?|shout(?:s|ed)?|voted?|ticked|typed|"
    r"urge[sd]?|"
    r"call(?:s|ed)?|reads?|begins?|began|opens?|goes|went|mutter(?:s|ed)?)"
)
TO_WHOM = r"(?: (?:me|you|us|him|her|them|that|to|for|it|an?|of|so|then|with|back|loudly))*[,:]?"
QUOTE_NO = r""""[^"\n]*\b(?:no|not|reject[a-z]*|den(?:y|ied|ies)|refuse[sd]?)\b[^"\n]*\""""
OTHERS_SAY_NO = any_line(rf"""
    [a-z]: "[^"\n]*\b(?:no|not|reject[a-z]*|deny)\b[^"\n ]* [^"\n ]+ [^"\n]*"
    \b{SAY}{TO_WHOM} (?:{QUOTE_NO}|no\b ?(?:[.,;!]|(?m:$)))
    "[^"\n]*\b(?:no|not|reject|deny)\b[^"\n]*",? (?:[a-z]+ ){{0,2}}{SAY}\b
    \bno, {SAY} (?:the|my|his|her|their|some|an?)\b
""")
OTHERS_SAY_YES = any_line(rf"""
    [a-z]: "[^"\n ]+ [^"\n ]+ [^"\n]*"
    \b{SAY}{TO_WHOM} (?:"[^"\n]*"|yes\b ?(?:[.,;!]|(?m:$)))
    "[^"\n]*",? (?:[a-z]+ ){{0,2}}{SAY}\b|\byes, {SAY} (?:the|my|his|her|their|some|an?)\b
""")
DISAGREE = any_line(r"""
    \b(?:i|we) (?:[a-z]+ly |beg to |must |have to )?(?:disagree|differ|object|think (?:otherwise|differently)|\
        see it differently)\b
    \b(?:i(?:'m| am)|am) not (?:convinced|persuaded|swayed)\b
    \b(?:do|can|does) not (?:share|agree|accept|follow|convince|persuade)\b
    \bthe (?:opposite|other (?:one|way|answer|side))\b
    \b(?:they|he|she|both|all)(?:'re| are|'s| is) (?:wrong|mistaken)\b|\boutvoted\b
""")

QUESTION = any_line(rf"""
    \n *(?:question|q|user|human|prompt)(?: [0-9]+)? ?:(?s:.*)
    {REST}\b(?:should|approve|deny|denied|grant|hire|{VERDICT}|recommend|would i){REST}\?(?:\s*a(?:nswer)?:)?
    {REST}\?[\s"']*(?:a(?:nswer)?: *)?(?:(?:yes|no|absolutely|definitely|maybe|perhaps)\b{REST})?
""")
"""A question; with the answer to it, if it is not the one that was asked, and with all that follows a next one."""
SARCASM = any_line(r"""
    (?:\boh,? )?\b(?:sure|certainly|of course|absolutely|okay|yes|right)[,.!]* (?:(?:of course|sure|because|\
        wonderful idea|great idea)[,:]? )*let(?:'s| us)\b[^.!?\n]*
    \boh,? (?:sure|yes|right|great|of course),? (?:because|give|hand|why not|by all means|wonderful|what)\b[^.!?\n]*
    \bwhat (?:could|can) (?:possibly )?go wrong\b
""")
MENTIONED = any_line(rf"""
    \[[^\[\]]{{2,}}\]|(?:\[ \]|☐|◻)[^\n]*
    \b[a-z0-9']+-(?:yes|no)\b(?:-[a-z]+)*|\b(?:yes|no)-[a-z][a-z0-9-]*|\boh,? (?:no|yes)\b|\bno means no\b
    \bnot hesitate to\b|\bno choice but\b|\bcan be given\b|\bused to be {CLAUSE}
    \byes,? (?:yes,? )?i ?(?:understand|know|see|can|could|have read|am (?:aware|sure)|'m (?:aware|sure)|hear|get|\
        have|'ve|realize|agree)\b
    \b(?:sure|certainly|of course|absolutely|okay)?[,.!]? \blet(?: me|'s| us)[^.!?:\n]*
""")
"""Words that say nothing of their own."""
PAIR = any_line(rf"""
    {QUOTED},? ?(?:or|and|nor|/|\u2002|vs\.?|versus|to) ?(?:an? )?(?:[a-z]+ )?{QUOTED}
    {QUOTED} (?:would|might|could|may|is|was|means?|can|will) {CLAUSE}
""")
"""Both words ("yes" or "no"), or what is said about one of them."""
