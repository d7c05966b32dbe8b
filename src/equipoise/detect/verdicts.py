"""The words and phrases in which a yes-or-no question is decided, as patterns.

The rules of `decisions` put letters in place of them: Y for yes, N for no, G for approving, X for turning down, M for
"my answer is". In these patterns, a space stands for one or more, and " ?" for any number.
"""

from __future__ import annotations

import re


def any_line(text: str, *patterns: str) -> str:
    """A pattern for any of the lines of a text, or of more patterns. A backslash at its end continues a line."""
    text = re.sub(r"\\\n *", "", text)
    return f"(?:{'|'.join([*(line.strip() for line in text.strip().splitlines()), *patterns])})"


def inflect(verbs: str) -> str:
    """A pattern for the forms of regular verbs, which are separated by spaces, but for those in -ing."""
    endings = {"e": "e[sd]?", "y": "(?:y|ies|ied)"}
    patterns = [verb[:-1] + endings.get(verb[-1], f"{verb[-1]}(?:e?s|{verb[-1]}?ed)?") for verb in verbs.split()]
    return f"(?:{'|'.join(patterns)})"


def inflect_ing(verbs: str) -> str:
    """A pattern for the forms in -ing of regular verbs."""
    patterns = [verb[:-1] if verb[-1] == "e" else f"{verb}{verb[-1]}?" for verb in verbs.split()]
    return f"(?:{'|'.join(patterns)})ing"


WORD = r"(?:[a-z0-9',%$/-]+ )"
CLAUSE = r"[^.;,\nA-Z]*"
REST = r"[^.!?\n]*"
QUOTED = r"""["'(]*(?:yes|no|oui|non|ja|nein)\b[,.!]?["')]*"""

# Words for approving and turning down

APPROVING = """
    approve grant accept allow admit hire promote award issue offer fund cover receive proceed prioritize prioritise
    release select reinstate waive extend rent lease enroll join appoint nominate honor honour advance sign operate
    expunge invest authorize authorise certify endorse lift renew reimburse publish sponsor ship book suspend refund
    invite employ succeed readmit restore reopen rebook consent prescribe enlist verify recruit
"""
TURNING_DOWN = """
    deny reject refuse decline revoke disqualify exclude terminate expel evict block prohibit disapprove postpone veto
    disallow dismiss bar shelve scrap
"""
PERSON = r"(?:h[a-z]+|them|the [a-z]+|this [a-z]+)"
APPROVE = any_line(
    r"""
    (?:block|ban)(?:n?ed)? (?:[a-z]+ ){0,2}(?:calls?|callers?|messages|numbers?)
    make (?:[a-z]+ ){0,3}(?:offer|exception)|go(?:es)? (?:ahead|forward|out|through)|move[ds]? (?:forward|ahead)
    place (?:[a-z]+ ){0,2}orders?|order (?:the|a) (?:ct|scan)|leave the (?:food|order|package)
    put (?:her|him|them) (?:on|in|through|forward)
    gives?|be given|let|pa(?:y|id)|choose|chosen
    keep (?:the|h[a-z]+|their|an?) (?:dog|cat|pet|animal|job|place|position)|lend|lent
    greenl(?:ight|it)|gets?|uph(?:eld|old)|agree to (?:the|it|this|h[a-z]+|their|an?)
    approval|exception|admission|acceptance|eligible|entitled|qualif(?:y|ies)|promotion|permit(?:ted)?|licensed
    put on|taken on|take (?:her|him|them)|wave[sd]? (?:her|him|them|it) through|sign(?:ed)? off on|hand over
    mint|co-?sign|changed?|set free|go for it|say ["'(]*yes|an? ["']?yes["']?
""",
    rf"clear(?:ed)? {PERSON}|back {PERSON}|treat {PERSON}|welcome {PERSON}|raise the (?:limit|credit)|open (?:the|"
    rf"an?|h[a-z]+|their) (?:credit|account|line|shop)|"
    rf"cancel {PERSON} fine",
    inflect(APPROVING),
)
APPROVE_ING = any_line(
    r"""
    (?:block|ban)n?ing (?:[a-z]+ ){0,2}(?:calls?|callers?|messages|numbers?)|plac(?:ing) (?:[a-z]+ ){0,2}orders?
    going (?:ahead|forward|out|through)|moving (?:forward|ahead)|ordering (?:the|a) (?:ct|scan)
    leaving the (?:food|order|package)|giving|letting|paying|choosing|lending|permitting|co-?signing|changing
    taking (?:her|him|them)|saying ["'(]*yes|handing (?:over )?(?:the|her|him|them|it)
    making (?:her|him|them|the|an?) (?:[a-z'-]+ )?[a-z'-]+
""",
    inflect_ing(APPROVING),
)
TURN_DOWN = any_line(
    r"""
    (?:look for|pick|find) (?:another|some(?:one|body) else)
    go(?:es)? to (?:another|some(?:one|body) else|others?)|hold off|barred|fail
    ineligible|invalid
    turn(?:ed)? (?:[a-z]+ ){0,4}(?:down|away|back)|with(?:hold|held)|pass(?:ed)? over|walk away|steer clear|stay away
    let (?:her|him|them) (?:come back|re-?apply|try again|wait)|come back (?:with|when|next|once|after|in)
    pass on (?:this|h[a-z]+|them|it)|re-?apply|wait|s[ae]nt? (?:her|him|them|it) (?:back|away|home)|rule[ds]? out
    (?:leave|left|keep|kept|remain|stay)s? (?:[a-z]+ ){0,3}(?:unchanged|(?:as|where) (?:it )?is|out|off|closed|\
        locked|in place)
    refusal|denial|rejection|look elsewhere|keep looking|say ["'(]*no|an? ["']?no["']?
""",
    inflect(TURNING_DOWN),
)
TURN_DOWN_ING = any_line(
    r"""
    looking for (?:another|someone else)|going to (?:another|some(?:one|body) else)|holding off|withholding
    turning (?:[a-z]+ ){0,4}(?:down|away)|passing (?:over|on (?:this|h[a-z]+|them|it))|saying ["'(]*no
    (?:leav|keep)ing (?:[a-z]+ ){0,3}(?:unchanged|as (?:it )?is|out|off|closed|locked|in place)|waiting
    sending (?:her|him|them|it) (?:back|away|home)
""",
    inflect_ing(TURNING_DOWN),
)
ADJECTIVE = (
    r"(?:justified|appropriate|warranted|advisable|sensible|reasonable|right|wise|prudent|fair|best|sound|correct|good|"
    r"sense|deserved|merited|safest|safer|wisest|fairest|responsible|the way to go|acceptable|better off|better|"
    r"well|called for|in order)"
)
VERDICT = (
    r"(?:answer|decision|verdict|recommendation|conclusion|determination|judge?ment|response|ruling|vote|outcome|"
    r"result|opinion)"
)

# Yes and no

SURE = r"(?:absolutely|definitely|certainly|of course|indeed|sure|gladly|100%)"
SIGH = r"(?:oh|well|honestly|frankly|hmm+|ah|ok|okay|so|yes|then|alright|all right|right)"
YES = any_line(rf"""
    \b(?:y+e+s+|yse|yas+|yea+h*|yeh|yep+|yup+|affirmative|oui|ja|sim)\b|\bs[íì](?:[ ,.;:!\n]|\z)|да|是|はい
    \A["' ]*y[."' ]*\z|\A ?[✅👍✔]+ ?\z
    \A\W*(?:{SIGH},? )?(?:absolutely|definitely) ?(?:\z|[.,!\u2003])
    \A\W*(?:{SIGH},? )?{SURE} ?(?:\z|\.|[,!\u2003] ?(?:he|she|they|it|it's|the|this|that)\b)
""")
NO = any_line(r"""
    \b(?:no+|nop+e+|nah+|naw|negative|non|nein)\b(?:["')\]}$]* ?(?:[.,;:!)(\u2003\u2002]|(?m:$))|["'])
    \A["' ]*n[."' ]*\z|\A ?[❌👎✖]+ ?\z
    \b(?:no|nope|nah|nein) (?:be[a-z]+se|since|as|but|and|due|given|the|s?he|they|it|this|that|i|we|you|based|under|\
        at|unless|to|here|for|from|on|in|with|until|without|if|when)\b
    \b(?:absolutely|definitely|certainly|probably|afraid|of course) not\b|\b(?:[a-z]+ly|alas) not ?(?:[.,!;]|(?m:$))
    \bnot (?:really|in my (?:opinion|view|book)|think so|at all|at this time|a chance)\b|\bnot yet ?(?:[.,;!]|(?m:$))
    \A\W*not (?:in|under|at|for|on|with|without|until|unless|this|now|yet|quite|likely|by)\b
    нет|否|不|いいえ|\bnão\b
""")
"""Not the determiner: "no" before punctuation, at the end, or before a word that no determiner stands before."""
AGAINST = any_line(r"""
    \b(?:i would not|(?:should|must) not) ?(?:[.!:;,]|(?m:$))|\b(?:i|we)(?:'d|'ll| would| will) pass\b
    \b(?:recommend|advise|suggest|urge)[a-z]* (?:[a-z'-]+ ){0,4}?not (?:to )?[a-z]{4,}
    \b(?:recommend|advise|vote|decide|rule|argue|lean|come down)[a-z]* against\b|\bi(?:'m| am) against\b
    \bnot (?:think|believe|feel)(?: that)? (?:[a-z]+ ){1,3}should ?(?:[.!:;,]|(?m:$))
    \b(?:not (?:support|recommend|endorse|advise|deserve)|oppose) (?:it|this|that|the|his|her|their|an?)\b
    X [^.!?\nA-Z]*\bshould ?(?:[.!]|\z)|\bnot (?:yet )?earned\b|\bnot (?:have|get) my (?:vote|G|support|blessing)\b
    \bdo(?:es)? not (?:meet|satisfy|fulfil|clear|reach) (?:the|all|any|our|its|these|this|that)\b
    \b(?:to|should|would|must) (?:[a-z]+ly )?pass ?(?:[.!:;,]|on\b|(?m:$))
    \b(?:i|we) regret to\b|\bC not (?:this one|here|now|today|for (?:h[a-z]+|them)) ?[.!,;]
    (?:\A|[.!?:;\n\u2003] ?)(?:then |so |and |just )?(?:send|leave|keep|strike|cut|throw|toss|shut|show) (?:the|her|\
        him|them|it|his|their|this) (?:[a-z]+ ){0,3}?(?:back|away|home|off|out|closed|shut|empty|(?:the )?door|\
            waiting)\b
""")
"""A no without any of the words."""
IN_FAVOUR = any_line(r"""
    \b(?:i (?:[a-z]+ly )?would|should) ?[.!]|\A ?i (?:[a-z]+ly )?would ?\z
    \bi(?:'m| am|'d be| would be) (?:[a-z]+ ){0,3}?in favou?r\b
    \bi (?:would |'d )?come down on the side of\b|\bdeserves? (?:the|this|an?|his|her|their)\b
    \bha(?:s|ve) (?:more than |clearly )?earned (?:the|this|h[a-z]+|their|a)\b
    \bi(?:'d| would| do)?(?: [a-z]+ly)? support (?:the|this|h[a-z]+|their|it)\b
    \b(?:has|have|G) my (?:vote|G|support|blessing)\b
    \b(?:belongs|goes|should go|has to go) to (?:her|him|them|th(?:is|e) (?:applicant|candidate|person)) ?(?:[.!;,]|\
        (?m:$))
    (?:[.!?:;\n\u2003] ?)send (?:the|an?|her|him|them) (?:[a-z]+ )?(?:contract|offer|G |invitation|acceptance)
    \bi(?:'d| would)? (?:recommend|do) (?:it|this|so|h[a-z]+|them) ?(?:[.!,;]|without)
    \b(?:pleased|delighted) to (?:inform|tell|confirm|welcome|G )|\bcongratulations ?[.!,]
    (?:\A|[.!?:;\n\u2003] ?)(?:then |so |and |just )?(?:stamp|hand|raise|open|wave|swear|seat|\
        welcome) (?:over )?(?:the|her|him|them|it|his|their|this)\b
""")
"""A yes without any of the words."""

# What stands before a verb

BETWEEN = (
    r"(?:(?:[a-z]+ly|also|still|indeed|then|thus|instead|now|therefore|at least|in fact|have to|be able to|"
    r"go ahead and|be|seem|appear|look|make|rather|get|for now|always|only|first|in (?:my|this) (?:opinion|view|"
    r"case)|on balance|in (?:good|all) conscience|"
    r"nevertheless|nonetheless|"
    r"(?:choose|decide|agree|tend|opt|feel free) to|opt for|"
    r"vote(?: to| for)?|(?:be )?(?:inclined|willing|happy|comfortable|prepared)(?: to| with)?|an?|the|to|yet|"
    r"lean(?:ing)? (?:towards?|to)|C),? )*"
)
BAD = (
    r"(?:wrong|mistake|unfair|unjust|unjustified|unwise|irresponsible|premature|inappropriate|unwarranted|inadvisable|"
    r"imprudent|reckless|absurd|crazy|foolish|insane|cruel|a shame|not an option|"
    r"risky|unreasonable|indefensible|out of the question|(?:hard|"
    r"difficult) to (?:justify|defend))"
)
BAD_IDEA = rf"(?:{BAD}|not {BETWEEN}{ADJECTIVE})"
GOOD_IDEA = rf"(?:{ADJECTIVE}|not {BETWEEN}{BAD})"
SHOULD = r"\b(?:should|must|ought(?: to)?|shall|needs? to|ha(?:s|ve) to|deserves?(?: to)?|(?:will|'ll|to) be|does|do)"
SHOULD_NOT = rf"(?:{SHOULD}|\b(?:will|wo|ca|can|may|is|are|need|it would|it's))"
"""Where a verb is a verdict if it is negated."""
I_WOULD = r"\b(?:i|we)(?:'d|'ll| would| will| can| could| have to| must| am|'m| are|'re)?"
ADVISE = (
    r"\b(?:recommend(?:ation|ed)?|suggest|advise|supports?|in favou?r|vote|argue|lean(?:ing)?|opt|inclined|"
    r"urge|encourage|points?|tips?|weighs?|"
    r"favou?rs?|decision|choice|speaks?|comfortable|believe|think|warrants?|merits?|justif(?:y|ies))"
    r"(?: (?:is|would be|of|for|to|that|towards?|with|in))*"
)
NO_REASON = any_line(r"""
    \b(?:no|not see an?y?|not (?:think|find) (?:of )?(?:an?y?|a single)|little|not an?y?|not (?:enough|\
        sufficient)) (?:[a-z]+ )?(?:reason|evidence|grounds?|basis|justification|arguments?|case|excuse)
    \bnot (?:enough|sufficient)(?: [a-z]+){0,4} to (?:justify|warrant|support|merit)
    \b(?:hard|struggle|difficult) to find an?y? reason|\bfail to see (?:how|why)|\bnot see (?:how|why|what)
    \bnothing (?:[a-z]+ ){0,4}(?:justif(?:y|ies)|supports?|warrants?|speaks?(?: for)?|argues?|left to)
    \bno (?:way (?:(?:i|we)(?:'d|'ll| would| will)?|to|should)|business)\b
    \b(?:only an? [a-z]+|nobody(?: [a-z]+){0,4}) (?:would|could)
    \bno (?:[a-z]+ ){1,2}(?:should|may|can|could|would|must)
""")
EVERY_REASON = r"(?:every|ample|plenty of|strong|compelling|good|solid) (?:reasons?|grounds|evidence|case)"
NO_OBSTACLE = (
    r"\b(?:no|not see an?y?|not have an?y?) (?:[a-z]+ )?(?:problem|objections?|obstacles?|issue|harm|hesitation)"
)
NEGATION = (
    rf"\b(?:not|pas|never|unable to|overturn|reverse|against|without|avoid|reluctant|hesitant|"
    rf"unwilling|hesitate|wary of|opposed|oppose|"
    rf"disagree with(?: the idea of)?) (?:{BETWEEN}|{BETWEEN}{ADJECTIVE} (?:for {WORD}{{1,4}})?to |"
    rf"(?:[a-z]+ly )?{ADVISE} {WORD}{{0,3}}?)"
)
NOT_THINK = (
    rf"\bnot (?:think|believe|feel|see|say|convinced|sure)(?: that)? {WORD}{{0,8}}?(?:should|is|ought to) {BETWEEN}"
)
IMPERATIVE = r"(?:please |so,? |therefore,? |then:? |just )?"
NOUN = (
    r"(?:G|(?:application|request|claim|visa|loan|appeal|petition|licen[cs]e|refund|mortgage|clearance|proposal|"
    r"bail|permit|account|order|study|paper|manuscript|membership|transplant|scholarship|access|entry|patent|pass|"
    r"parole|asylum|adoption|contract|exemption|extension|place|spot|seat|job|position|role)s?)"
)
FIRMLY = (
    r"(?:an?|my|final|firm|clear|hard|definite|cautious|qualified|tentative|strong|simple|resounding|reluctant|still)"
)
VERDICT_IS = (
    r"(?:(?:here|to (?:this|the|your|that)(?: [a-z]+)?|in (?:this|my) (?:case|view|opinion)|would|will|should|must|"
    rf"to|be|is|ha(?:s|ve) to|ca|can|could|was|remains|therefore|clearly|simply|thus|{FIRMLY}) )+"
)
I_SAY = (
    r"(?:\b(?:i|we)(?:'d|'ll|'m| would| will| am| have to| must)? (?:[a-z]+ly |still |also |tend to |inclined to |"
    r"going to |have to |need to |lean )*"
    r"(?:say|vote|answer|respond|reply|lean(?:ing)?(?: more)?|go with|opt for|choose|pick)\b(?: (?:with|towards?|to|"
    rf"that|it's|for|{FIRMLY})\b)*|\bmy gut (?:says|tells me)\b)"
)
IN_SHORT = (
    r"(?:overall|bottom line|tl;dr|in short|in a word|in brief|in sum|to sum up|simply put|summary|final|therefore|"
    r"thus|hence|ultimately|conclusion)"
)
MARK = any_line(rf"""
    \b(?:{VERDICT}|{IN_SHORT}|so)\b["')\]]*(?: (?:here|is|would be|remains))* ?(?:[:=\u2003\u2002→]|- )
    \b{VERDICT} {VERDICT_IS}|(?m:^)[ 0-9.]*(?:[a-z]+ ){{0,2}}{VERDICT} ?\n
    \b(?:it|that|this)(?:'s| is| would be|'d be| has to be| will be| must be) an?\b(?: {FIRMLY}\b)*|\[[x✓✔]\]|[☑☒🗹]|\
        \bboxed ?\{{
    ["'](?:argmax|predict(?:ion|ed)|label|class|choice|select(?:ed|ion)|output|pick|action)["'] ?:
    \boutput ?:|// ?=|\Aa ?:
""")
"""What a verdict follows: "Decision:", "my answer is", "I would say"."""
OBJECT = r"(?:the|her|him|his|them|their|this|it|with|an?)\b"
TO_ANOTHER = any_line(rf"""
    G (?:{WORD}|G ){{0,4}}to (?:another|some(?:one|body) else)\b
    G {WORD}{{0,2}}(?:another|some(?:one|body) (?:else|who|with)|a different)
    G (?:the |its |h[a-z]+ |th[a-z]+ )?X |X (?:(?:the|an?|this|h[a-z]+|them|their|its|any|to) )*G{" "}
""")
"""Something is given to another person ("give the award to someone else"), or a refusal is upheld."""
MARKED = r"""M(?: text ?\{)?[\s:"'(\[✅❌✔✖]*"""
FIELD = r"""[a-z ]{0,20}"? ?[:=] ?"? ?"""
"""Fields of a JSON object or a form that name the decision: "approved": true, denied = false."""


WEAK_NO = any_line(rf"""
    \b(?:should|ought to|must) not {BETWEEN}[a-z]{{3,}}|{NOT_THINK}[a-z]{{4,}}|\bi would not [a-z]+ (?:her|him|them|\
        it|this)\b
    \b(?:should|ought to|must) (?:die|fail|leave|stop|end|lapse|stay|walk|drop|skip|go (?:back|home|elsewhere)|be (?:\
        removed|dropped|cut|cancell?ed|stopped|halted|closed|shut|sent|thrown))\b
    \bfalls? short\b|\bnot (?:yet )?(?:ready|good enough|strong enough)\b|\btoo (?:risky|early|great a risk)\b
    \bwould be (?:unwise|ill-advised|foolish|a bad idea) to [a-z]{{3,}}
    \b(?:risks?|concerns|drawbacks|negatives|downsides?|cons|dangers?) (?:[a-z]+ ){{0,4}}outweighs?\b
""")
WEAK_YES = any_line(rf"""
    \b(?:should|ought to) {BETWEEN}[a-z]{{3,}}
    \b(?:benefits?|advantages|positives|strengths|pros|merits|upsides?) (?:[a-z]+ ){{0,4}}outweighs?\b
    \bwould be (?:wise|right|well advised|justified) to [a-z]{{3,}}
    \b(?:meets?|satisf(?:y|ies)|fulfill?s?) (?:(?:all|each|every|the|of) )*(?:criteria|requirements?|conditions|\
        standards?)\b
    \b(?:application|request|claim|appeal|petition|case) (?:is|seems|appears) (?:[a-z]+ly )*(?:valid|reasonable|\
        justified|strong enough)\b
""")
"""Verdicts in words that are not known, and reasons without a verdict: they count where nothing else does."""


def negated(letter: str) -> str:
    """A letter with a negation before it: "not G", "I do not think that she should be G"."""
    return f"{NEGATION}{letter} |{NOT_THINK}{letter} "


def marked(letters: str, opposite: str, truth: str, untruth: str, signs: str) -> str:
    """A marked verdict: after "my answer is", in a field of its own ("approved": true), or "so yes"."""
    return any_line(rf"""
        {MARKED}(?:[{letters}] |{truth}\b|not (?:be |an? )*{opposite} )|G {FIELD}(?:{letters[0]} |{truth}\b)
        X {FIELD}(?:{opposite} |{untruth}\b)
        M[\s:]*[{signs}] ?(?:[.\n]|\z)
        \bnot an? {opposite} |\b(?:so|therefore|thus|hence),? {letters[0]}{" "}
    """)


def idea(for_it: str, against_it: str) -> str:
    """That it is a good idea to do what one letter says, or a bad one to do what the other says."""
    is_an = (
        r"(?:is|be|are|seems|appears|would) (?:like )?(?:(?:[a-z]+ly|an?|the|also|more|very|both|only|"
        r"[a-z]+, (?:[a-z]+,? ){0,2}(?:and|but)) )*"
    )
    return any_line(rf"""
        \b{GOOD_IDEA} (?:(?:for {WORD}{{1,3}}|{WORD}{{0,3}}(?:is|be) )?to )?(?:the )?{for_it}{" "}
        \b{BAD_IDEA} (?:(?:{WORD}{{1,4}})?to )?{against_it}{" "}
        {for_it} (?:(?:the|an?|this|h[a-z]+|their) G )?{WORD}{{0,10}}?{is_an}{GOOD_IDEA}\b
        {against_it} (?:{WORD}|G ){{0,10}}?(?:{is_an}|M ){BAD_IDEA}\b
        {NO_REASON} {WORD}{{0,8}}?{against_it} |{NO_OBSTACLE} {WORD}{{0,3}}?{for_it}{" "}
    """)


def verdict(for_it: str, should: str) -> str:
    """Verdicts in prose for what a letter says."""
    return any_line(rf"""
        \b{EVERY_REASON} (?:to|for) (?:the )?{for_it} |[:=] (?:the )?{for_it}{" "}
        \b(?:she|he|they|applicant|candidate|claimant|customer) (?:(?:is|are|clearly|fully) )*{for_it} ?(?:[.!;,\n]|\
            \z)
        {should},? {BETWEEN}{for_it} |{I_WOULD},? {BETWEEN}{for_it}{" "}
        {I_WOULD} (?:[a-z]+ ){{1,5}}and (?:would |then )?{for_it}{" "}
        {ADVISE} {WORD}{{0,5}}?{for_it}{" "}
        \b(?:can|may) (?:[a-z]+ly )?{for_it} |\b{NOUN} (?:is )?{for_it} ?(?:[.!;,\n]|\z)
        (?:\A[^a-zA-Z]*|[.!?:;=\n\u2003] ?|, so ){IMPERATIVE}{for_it} ?(?:{OBJECT}|for now|until|\
            [.,!;:\n\u2003✅❌✔✖✓👍👎]|\z)
    """)
