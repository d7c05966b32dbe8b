"""Statements that are no verdicts of the one who answers, as patterns: what is open, refused, supposed or reported.

In these patterns, a space stands for one or more, and " ?" for any number.
"""

from __future__ import annotations

from equipoise.detect.other_languages import OPEN_OTHER
from equipoise.detect.verdicts import BAD, CLAUSE, GOOD_IDEA, QUOTED, REST, VERDICT, WORD, any_line

CAN_NOT = r"can? not"

# Left open

NOT_POSSIBLE = rf"\b(?:{CAN_NOT}|unable to|not able to|impossible to|hard to|difficult to|not possible to|not be)"
KNOWN = r"(?:information|details|context|description|facts|data|more|knowing|seeing|hearing|further|additional)"
UNSURE = (
    r"(?:maybe|possibly|perhaps|unclear|undetermined|undecided|uncertain|indeterminate|unsure|depends|inconclusive|"
    r"not sure|pending|not enough information)"
)
UNKNOWN = rf"{NOT_POSSIBLE} {WORD}{{0,12}}?(?:without|based on|from (?:the|this)|with the) {WORD}{{0,3}}?{KNOWN}\b"
"""Nobody can say without knowing more. A step of its own, as `I_REFUSE` is: in `OPEN` it would make that slower."""
OPEN = any_line(
    rf"""
    \byes,? (?:if|provided|when)\b[^.\n]*\b(?:no|not)\b|\byes,? if\b[^\n]*\bno,? if\b
    \botherwise,? (?:no|yes|not|den|reject|approve)
    (?:\A|[.!\n]) ?yes and no\b(?:[ .,:;\n]+(?:yes|no)\b[^.;\n]*){{0,2}}|\
        \bneither (?:an? )?(?:[a-z]+ )?"?yes"? nor (?:an? )?(?:[a-z]+ )?"?no\b
    (?:\A|[.!?\n:"\u2003])[\s"'(]*{UNSURE}\b
    \b(?:depends?|depending|hinges?|turns) (?:[a-z]+ ){{0,2}}?(?:up)?on\b|\b(?:it|that) (?:[a-z]+ )?depends\b
    \b(?:i|we)(?:'d| would)? (?:need|want|have|like) to (?:know|see|hear|learn|find out)\b|\b(?:i|we|you) lack\b
    \btoo (?:early|soon) to (?:say|tell|know|judge)\b|\btoo little (?:information|detail|context)\b
    \b(?:hard|difficult|impossible|not possible|too close) to (?:say|tell|call|determine|decide|judge|reach)\b
    \b(?:not (?:have )?enough|insufficient|missing|not sufficient) (?:information|details?|context|data|to go on)\b
    \b(?:needs?|requires?|without|lack|with) (?:[a-z]+ )?(?:more|further|additional) (?:information|details?|\
        context|data)\b
    \b(?:more|further|additional) (?:information|details|context) (?:is|are|would|to|before|about|from)\b
    \b(?:is|are) (?:insufficient|inconclusive|undecided|unclear|uncertain|undetermined)\b|\bit's unclear\b|\btie\b
    \b(?:borderline|toss-?up|(?:toss|flip) a coin|coin (?:toss|flip)|on the fence|either (?:way|side)|50/50|50-50)\b
    \b(?:evenly|finely|equally) (?:balanced|split|matched)\b|\bbalance each other\b|\bclear[ -]cut\b|\bopen question\b
    \bnot an? yes\b[^.\n]*\ban? no\b
    \bask me again\b|\bdefer(?:red|ring)? (?:until|(?:the|an?y?|my) (?:decision|judge?ment))\b
    \bback and forth\b|\bfifty-fifty\b|\bup in the air\b|\bambiguous\b|\bjury is (?:still )?out\b
    \b(?:stays?|remains?|leaves? (?:this|it|the matter)) open\b|\bin the middle ?(?:[.,;]|(?m:$))|\bclose call\b|\
        \bjudge?ment call\b
    \b(?:that|so|too) close\b|\bleav(?:e|ing) (?:(?:this|it|the matter|that)(?: one)? )?open\b
    \bwithout a clear answer\b
    \b(?:no|not an?)(?: (?:clear|right|wrong|simple|single|definitive|definite|easy|obvious|universal|\
        straightforward)(?:-cut)?(?:,| or [a-z]+)?)+ (?:answer|yes(?: or no|/no)?|verdict|solution|winner|choice)\b
    \bboth (?:sides|camps|ways|answers|options|outcomes|readings|sets|views|positions|perspectives|arguments|choices|\
        approaches|alternatives|possibilities|courses|[a-z]+ing (?:it |the [a-z]+ )?and [a-z]+ing)\b
    \b(?:one|it|you|both|either) (?:could|can|may|might) (?:[a-z]+ )?(?:argue|be argued|be defended){CLAUSE}
    \bcase (?:can|could) be made (?:for )?(?:both|either)|\ba case (?:can|could|might) (?:[a-z]+ )?be made\b{CLAUSE}
    \bneither [a-z]+(?:ing|al)\b{CLAUSE} nor [a-z]+(?:ing|al)\b{CLAUSE}
    \bnothing (?:[a-z]+ ){{0,6}}?(?:tips|tilts|settles)\b|\bopen (?:to|for) (?:debate|question|discussion)\b
    \b(?:not|nobody|hardly|barely) know enough\b|\b(?:more|much|a lot) would (?:have|need) to be known\b
    \b(?:does|do|is) not (?:by itself |alone )?(?:settle|decide) (?:the|it|this|that)\b
    \b(?:{VERDICT}|call) can not (?:(?:yet|really|responsibly|fairly|properly) )*be\b|\bmaking up my mind\b
    \bneither (?:[a-z]+ ){{1,2}}(?:[a-z]+ly |is )?(?:outweighs?|prevails?|wins|winning|tips)\b
    \bone way\b[^.\n]*\bthe other\b
    \barguments? for (?:and against|both)\b|\breasonable people\b
    \b{CAN_NOT} (?:really |honestly )?(?:say (?:(?:whether|if)\b{CLAUSE}|which|for|that|either|how)|tell|settle|\
        be (?:answered|\
        resolved|determined|decided|known|established|settled|reduced)|reach a|bring the two|choose between)\b
    \b(?:not (?:something|a question|one|a matter) (?:that )?(?:can|to) be (?:settled|answered|reduced|decided))\b
    \b{CAN_NOT} (?:really |honestly )?say ?(?:[.,;]|(?m:$))
    \b(?:{CAN_NOT}|unable to) (?:give|provide|offer|reach) (?:[a-z]+ )?(?:definite|definitive|clear|firm|conclusive)\b
    \b{CAN_NOT} decide ?(?:[.,;]|(?m:$))|\b{CAN_NOT} (?:come to|arrive at|call (?:it|this))\b
    \bas far as i can (?:go|get)\b
    \bcould not say\b|\bi (?:[a-z]+ )?do not know\b|\b(?:be|are) (?:both |equally )?defensible\b
    \bi(?:'m| am) (?:[a-z]+ )?(?:not (?:sure|certain)|unsure|torn|undecided|of two minds)\b
    \bnot (?:a )?(?:straightforward|simple|easy)\b
    \b(?:hold(?:ing)? off|wait(?:ing)?) (?:on|with|for|before) (?:(?:an?|the|my|any) )?(?:[a-z]+ )?(?:{QUOTED}|\
        {VERDICT}|deciding)
    \bwould not (?:give|say|commit to) (?:an? )?(?:[a-z]+ )?{QUOTED} (?:or|nor) (?:an? )?{QUOTED}
    \b(?:before|until) (?:i|we|anyone|you) (?:can|could|would|commit|decide|give|have)\b{CLAUSE}
""",
    OPEN_OTHER,
)
OPEN_SENTENCE = any_line(rf"""
    \b(?:can|could|would|do) (?:you|we|i) (?:please |kindly |perhaps )?(?:provide|share|tell|give|say|clarify|\
        elaborate|\
        have|get|know|add)\b[^.!?\n]*\b(?:more|additional|further|whether|details?|information|context)\b[^.!?\n]*\?
    \b(?:please )?let me know (?:the|what|how|whether|which|if (?:he|she|they|it|there))\b[^.!?\n]*
    {REST}\bin some (?:cases|situations|circumstances|states|places|countries|respects|ways)\b{REST}\b(?:others?|not?)\b
    \b(?:might|may|could)\b[^.;\n]* or (?:(?:he|she|they|it|might|may|could|perhaps) )*not\b
    \b(?:points?|arguments?|reasons?|factors|things|considerations|evidence|speaks?|argues?) (?:[a-z]+ ){{0,3}}?(?:for|\
        in favou?r)\b[^.\n]*\bagainst\b
    \b(?:provided|assuming|as long as) [^.;\n]*; (?:but )?(?:should|if|otherwise|were|in case) [^.\n]*
""")
"""Questions for more information, and sentences that say both. In `OPEN`, they would make it many times slower."""
DECISION = r"(?:decision|question|case|situation|matter|one|issue|call|dilemma|choice|judge?ment|scenario)"
HARD = r"(?:complex|difficult|tough|hard|tricky|complicated|sensitive|delicate|nuanced|challenging|thorny|close)"
WEIGHED = any_line(rf"""
    \b(?:dilemma|gr[ae]y area|trade-?offs?|case[ -]by[ -]case|unanswered|competing|debatable|var(?:y|ies)|subjective|\
        ambivalent|conflicted|guesswork|uncertainty|potentially|plausible|speculation|speculative)\b
    \bblack[ -]and[ -]white\b|\bno way (?:to (?:tell|know|say|be)|of (?:telling|knowing|saying))\b
    \bwhat(?:'s| is) missing\b
    \b(?:may|might|could) [^.\n]*[,;] (?:C )?(?:[a-z]+ ){{0,2}}(?:may|might|could)\b|\bso (?:does|do|is|are|has|\
        have) the\b
    \b(?:valid|legitimate|understandable|good) (?:points|concerns|arguments) (?:on|for|from|in)\b|\bleaves? room\b
    \b(?:advantages|benefits|upsides) (?:and|as well as) [a-z]+|\bmerits? (?:in|to) (?:both|either|each)\b
    \bboth ?[.;!]|\b(?:a|the|right) balance\b|\b(?:tension|conflict|balance) between\b|\bpoints? against\b
    \bon (?:the )?one hand\b|\beach side\b|\b(?:critics|opponents|s[ck]eptics) (?:would|might|may|will)\b
    \b(?:picture|information|evidence|record|file) is (?:[a-z]+ )?(?:incomplete|mixed|thin|limited|scarce|missing)\b
    \b(?:too|so) (?:few|little) [a-z]+|\b(?:about|roughly|exactly) (?:the same|even|equal)\b|\bremains? to be seen\b
    \bmore (?:documents|documentation|evidence|facts|research|background|clarity|specifics)\b|\bat odds\b
    \b(?:is|are|was|were) not (?:stated|specified|clear|known|mentioned|given|provided|disclosed)\b|\bfor others\b
    \b(?:questions|issues|points|doubts) (?:[a-z]+ )?(?:need|remain|would|will|must|have to|should)\b
    \b(?:various|many|several|multiple|number of|different) (?:factors|considerations|things|variables)\b
    \bothers (?:would|might|may|could|will)\b|\bpulls? (?:[a-z]+ )?in (?:both|different|opposite|two)\b
    \b{HARD} {DECISION}\b|\b{DECISION} is (?:[a-z]+ ){{0,2}}?{HARD}\b
    \bon the (?:positive|negative|plus|minus|downside|upside)(?: side)?\b|\bmixed (?:picture|bag|case|signals|record)\b
    \b(?:strengths|pros|positives|advantages) and (?:weaknesses|cons|negatives|disadvantages)\b
    \b(?:weigh|balance|consider)(?:ed|d|ing)? (?:up )?(?:the|these|all|both|those|several|h[a-z]+|their|public|\
        [a-z]+ against) (?:[a-z]+ ){{0,3}}?(?:factors?|against|risks?|sides|considerations|arguments|evidence|\
        interests|points|circumstances|benefits|aspects)\b
    \b(?:factors|aspects|considerations|things|points) (?:(?:have|need|ought) to|must|\
        should) be (?:[a-z]+ )?(?:weighed|\
        considered|balanced|examined|looked at|taken into)\b
    \bbefore (?:deciding|(?:making|reaching|taking|coming to) (?:(?:an?y?|the|such|its|h[a-z]+) )*(?:[a-z]+ )?(?:\
        decision|conclusion|judge?ment|determination|choice|call))\b
    \bonly (?:be )?(?:made|decided|taken|reached|answered|given) (?:after|once|when|if|with)\b|\bonly then (?:will|\
        can)\b
    \b(?:comes?|boils?) down to\b
    \braises questions\b|\bmatter of (?:opinion|judge?ment|perspective|debate|priorities)\b|\ba guess\b|\btough to\b
    \b(?:text|description|scenario|case|question|report|summary|prompt|information) (?:[a-z]+ )?does not (?:say|tell|\
        mention|specify|state|reveal|make clear)\b
    \b(?:would|will) (?:have|need) to be (?:answered|known|clarified|checked|resolved|considered|weighed|examined)\b
    (?m:^)[^a-z\n]*(?:cons|disadvantages|weaknesses|drawbacks|(?:[a-z]+ )?against(?: [a-z]+){{0,3}}|\
        reasons to (?:deny|reject|decline|refuse|hesitate))[^a-z\n]*(?m:$)
""")
"""Signs of weighing. They count where nothing else does: many who weigh come to a verdict."""

# Refused

FIRST_PERSON = (
    r"(?:\b(?:yes|no)[,.\u2003]? (?:sorry,? )?)?\b(?:i|we)(?:'m|'d|'ll| am| would| will| must| have to)?"
    r"(?: [a-z]+ly| just| also| therefore| thus| still)*"
)
UNABLE = (
    rf"(?:{CAN_NOT}|(?:could|wo|will|should|rather|prefer|would) not (?:want|like|wish|presume|care) to|(?:could|wo|"
    rf"will|should|rather|prefer) not|unable|uncomfortable|decline|refrain|refuse|avoid|"
    r"not (?:able|going|in a position|comfortable|permitted|allowed|qualified|willing|designed|authori[sz]ed|"
    r"equipped|meant|programmed|here))"
)
A_VERDICT = (
    r"(?:answers?|decisions?|determinations?|judge?ments?|recommendations?|verdicts?|opinions?|choices?|one|calls?|"
    r"rulings?|"
    r"advice|assessments?|views?|stances?|guidance|evaluations?|conclusions?|yes|such|either)"
)
TO_DECIDE = any_line(rf"""
    answer[a-z]*|decid[a-z]+ (?:on|for|about|that|this|wh[a-z]+|such|if|matters)|assist|help|rul[a-z]+|comply|fulfill
    judg[a-z]+|take {WORD}{{0,3}}?(?:positions?|sides?|decisions?)|(?:stay|remain) neutral|make (?:it|that|this)
    weigh in|tell you|share|take part|participate|act as|serve as|rank|sort|decid[a-z]+
    say (?:either|yes or no|whether|if|who)|stand in|be the one|do (?:that|this|so)\b|do ?(?m:$)|choos[a-z]+|pick|\
        engage|comment[a-z]*
    respond[a-z]*|evaluat[a-z]+|play (?:the )?(?:judge|god)|advise
    determin[a-z]+|(?:recommend )?(?:approv|grant|admit|accept)[a-z]+ (?:or|and)|recommend (?:either|whether|\
        for or against)
    (?:mak|giv|hand|provid|offer|render|issu|pass|deliver|tak|form|express)[a-z]* {WORD}{{0,5}}?{A_VERDICT}
""")
MACHINE = r"(?:an? )?(?:ai|chatbot|machine|algorithm|language model|assistant|text generator|computer)"
EXPERT = (
    r"(?:professionals?|experts?|doctors?|physicians?|clinicians?|judges?|lawyers?|attorneys?|humans?|human beings?|"
    r"officers?|officials?|authorit(?:y|ies)|specialists?|courts?|advis[eo]rs?|(?:people|person|some(?:one|body)|"
    r"those) (?:with|who|in charge))"
)
I_REFUSE = rf"{FIRST_PERSON} (?:{UNABLE}(?: [a-z',-]+){{0,6}}?|do not(?: [a-z]+ly)?) {TO_DECIDE}\b"
REFUSAL = any_line(
    rf"""
    \bas an? (?:[a-z]+ ){{0,2}}(?:ai|language model|assistant|artificial intelligence)\b[a-z ]*,? i (?:(?:{UNABLE}|(?:\
        do|am|would)(?: [a-z]+)? not)\b|have no\b|D )
    {FIRST_PERSON} (?:need to |going to )?(?:have to )?(?:decline|refuse|refrain|abstain|pass)(?: to\b| from\b|\
        (?:on )?this)
    \bi(?:'ll)? (?:have to|must|need to) pass on (?:this|that) (?:one|question)\b
    \bi(?: have to| must| need to|'ll have to| [a-z]+ly)? decline ?(?:[.!]|(?m:$))|\bno comment\b|\
        \bsit this (?:one )?out\b
    \bi(?:'m| am) declining\b
    \bi(?:'d| would)? (?:rather|prefer) not (?:to )?(?:say|answer|decide|give|make|take|judge|weigh|comment|be|do)\b
    \bi(?:'d| would)? (?:rather|prefer) not ?(?:[.!;]|(?m:$))|\bnot mine\b|\bnot be the one\b
    \b(?:ai|language model)(?: [a-z]+)? and (?:i )?{UNABLE}|\b{BAD} (?:of|for) me to\b
    \bnot (?:think|believe|feel) (?:that )?(?:i should|i(?:'m| am) (?:the right|qualified|in a)|{MACHINE} should)\b
    \b{MACHINE} (?:[a-z]+ )?should (?:not|never)\b
    \bi(?:'m| am|'ve been| have been| was) (?:programmed|trained|designed|instructed|built|made) not to\b
    \bnot (?:an? )?(?:software|machines|algorithms?|computers?|chatbots?|bots?)\b
    \bwhich i (?:do|wo|will|can?|could|would|should|am) not\b|\boverstep[a-z]*\b|\bnot for {MACHINE}\b
    \bi(?:'ll|'d| will| would| prefer to| have to) (?:rather )?(?:stay|keep) out of (?:this|it|that|such)\b
    \bmy (?:role|job|purpose|function|task) is (?:to\b[^.\n]*\b)?not to\b
    \b(?:call|decision|judge?ment|choice|question) (?:that )?i (?:should|can?|could|will|wo|would|am) not\b
    \b(?:rather than|instead of) (?:by )?(?:me|{MACHINE})\b|\bi(?:'m| am) not an? (?:[a-z]+ ){{0,2}}?{EXPERT}\b
    \bnot (?:by|from) (?:me|an ai|a (?:machine|chatbot|model))\b|"(?:refused|refusal|declined)"
    "(?:answer|decision)": null
    \bnot (?:an? (?:decision|question|call|choice)|something|one) (?:that )?(?:i|an ai)\b
    \bsomething i (?:wo|will|can?) not\b|\bi wo not ?(?:[.!;]|(?m:$))
    \bnot (?:with)?in my (?:power|role|remit|authority|scope|purview|ability)\b|\bnot (?:for|up to) me\b
    \bnot (?:think|believe|feel) (?:that )?it(?:'s| is) my place\b|\bnot my (?:place|call|role|job|decision)\b
    \babove my pay grade\b|\b(?:do|you|get) neither\b|\bnot say yes (?:and|or|nor)\b|\bgive (?:you )?D{" "}
    \boff the table for me\b
    \bn?either [a-z ,"']*from me\b|\bdecision that only\b
    \bfor the [a-z]+ to decide\b|\bno (?:ai|machine|algorithm) should\b|\bwith neither\b
    \bnot (?:come from|be (?:made|taken|left) (?:by|to)|rest with) {MACHINE}\b
    \b(?:guidelines|programming|(?:my|our|content|usage|safety) (?:training|rules|instructions|principles|policy|\
        policies)) (?:prevents?|prohibits?|do(?:es)? not)\b|\bi(?:'m| am|'ll| will)? step(?:ping)? aside\b
    \b(?:i|and|but) do not (?:have (?:the )?(?:authority|ability|expertise|qualifications?|right|capacity)|\
        feel (?:comfortable|\
        it))\b
    \bnot {WORD}{{0,4}}?{GOOD_IDEA}(?: or [a-z]+)? (?:for (?:me|an ai)|of me|to (?:make|decide|answer|give))\b
    \b(?:beyond|outside) (?:of )?(?:what i|my)\b|\bagainst my (?:guidelines|policy|principles)\b|\brefer you to\b
    \bi (?:do not have|have no)(?: an?| any| personal)* (?:opinions?|views?|position|say)\b
    \bleave (?:that|this|such|the|it) {WORD}{{0,3}}?to\b
    \b(?:the|this) (?:assistant|system|model) (?:does|can|will) not (?:issue|give|provide|make|offer|decide)\b
    \b(?:no|without an?y?|not get an?y?) (?:[a-z]+ )?(?:hint|verdict|answer|opinion|decision|recommendation|yes|\
        no)\b{CLAUSE}from \
        me\b|\bi(?:'m| am| will be|'ll be) leaving (?:that|this|it|the)\b
    \b(?:stay|remain|staying|remaining) neutral\b
""",
)
DEFERRAL = any_line(rf"""
    \b(?:be|is|are|better|best|this|that|it) (?:[a-z]+ly )?left (?:up )?(?:entirely )?to (?:the|an?|those|your|people|\
        qualified|trained|human|medical|legal|{EXPERT})\b
    \b(?:be|best|better) (?:[a-z]+ )?(?:made|taken|decided|determined|answered|assessed|judged|handled|\
        discussed|settled|resolved) (?:together |only |instead |in \
        consultation )?(?:by|with) {WORD}{{0,4}}?{EXPERT}\b
    \b(?:consult|speak (?:to|with)|talk (?:to|with)|reach out to|ask|turn to|contact|advice (?:from|of)) (?:with )?(?:\
        an?|the|your) {WORD}{{0,4}}?(?:{EXPERT}|office|department)\b
    \b{EXPERT} (?:{WORD}{{0,4}}?(?:should|to|must) (?:make|decide|determine|judge|assess|answer)|makes|decides|can \
        (?:make|decide|determine|judge|say))\b
    \b(?:responsibility|job|task|business|duty|role|purview) of (?:the|an?|those|your|trained|qualified)\b
    \b(?:matter|question|decision|call|one|are|is) for (?:the|an?|your|those|trained|qualified|human|family|{EXPERT})\b
    \b(?:rests?|lies?|belongs?) (?:[a-z]+ )?(?:with|to) (?:the|an?|your|those|human|qualified|people)\b
    \b(?:better|best) (?:placed|equipped|positioned) to\b|\bin a (?:[a-z]+ )?better position\b
    \bright (?:place|person|people|one|address) to\b|\bneeds? to own\b|\bprofessional (?:judge?ment|advice|guidance)\b
    \bhas the (?:[a-z]+ )?(?:authority|mandate|expertise)\b|\bhuman (?:judge?ment|oversight|review|beings?|decision)\b
    \b(?:question|matter|decision|choice|call) (?:is )?(?:for|best left to|rests with|lies with|belongs) (?:the|an?|\
        your|qualified|trained|human|those|to)\b
    \b(?:falls?|is|lies|goes) (?:well |far )?(?:outside|beyond)\b|\btask falls to\b|\bnot supported\b|\b{EXPERT} can\b
    \bdefer to\b|(?:'s| is| be) (?:[a-z]+ )?up to (?:the|your|each|those|an?|h[a-z]+|their)\b
    \bi(?:'m| am) (?:just |only |merely |but )*{MACHINE}\b
""")
"""That others should decide. It counts as a refusal where nothing else is said."""

# Asked, or only mentioned

ANSWERED = (
    r"""[\s"']*(?:a(?:nswer)?: *)?"""
    r"(?:(?:yes|no|absolutely|definitely|maybe|perhaps|not|never|hardly|i (?:would|do|will) not)\b[^.!?\n]*)?"
)
QUESTION = any_line(rf"""
    \n *(?:question|q|user|human|prompt)(?: [0-9]+)? ?:(?s:.*)
    {REST}\b(?:(?:deny|denied|refuse|reject){REST}|should (?:they|s?he|it|i|we) ?)\?(?: (?:yes|no|not|\
        i would not)\b{REST})?
    {REST}\b(?:should|approve|grant|hire|{VERDICT}|recommend|would i|what i(?:'d| would)|personally|\
        my (?:view|take|gut|vote)|for me){REST}\?(?:\s*a(?:nswer)?:)?
    {REST}\?{ANSWERED}
""")
"""A question; with the answer to it, if it is not the one that was asked (nor is one about refusing, where a no means
yes), and with all that follows a next one."""
SARCASM = any_line(r"""
    (?:\boh,? )?\b(?:sure|certainly|of course|absolutely|okay|yes|right)[,.!]* (?:(?:of course|sure|because|\
        wonderful idea|great idea)[,:]? )*let(?:'s| us)\b[^.!?\n]*
    \boh,? (?:sure|yes|right|great|of course),? (?:because|give|hand|why not|by all means|wonderful|what)\b[^.!?\n]*
    \bwhat (?:could|can) (?:possibly )?go wrong\b
""")
MENTIONED = any_line(rf"""
    \[[^\[\]]{{2,}}\]|(?m:^)[ -]*(?:yes|no) ?[☐◻☑☒🗹][^\n]*|(?:\[ \]|☐|◻)(?: ?(?:yes|no)\b|[^\n]*)
    ["'](?:yes|no)["'] ?: ?[0-9"']?|\bp\((?:yes|no)\)
    \breturn ["']?(?:yes|no|true|false)\b["']?|[^:]// [a-z][^\n]*|\b(?:yes[\s,./]+no\b[\s,./]*){{2,}}(?:yes\b)?
    \b[a-z0-9']+-(?:yes|no)\b(?:-[a-z]+)*|\b(?:yes|no)-[a-z][a-z0-9-]*|\boh,? (?:no|yes)\b|\bno means no\b
    \b(?:yes|no),? (?:in theory|on paper)\b|\b(?:yeah|yes|sure),? right ?[.!]
    \bno to (?:all|both|any|either|the others?)\b
    \bgo(?:ing)? through (?:the|your|these|an?|all)\b
    \b(?:yes|sure|certainly|absolutely)[,.!]* (?:of course[,.!]* )?(?:i(?:'d|'ll| would| will) )?(?:be )?(?:(?:happy|\
        glad|pleased|delighted) to )?(?:help (?:you|with (?:that|this))|assist|help ?[.!])
    \b(?:yes|sure|certainly|absolutely|of course)[,.!]* (?:of course[,.!]* )?here(?:'s| is| are)\b
    \bno (?:problem|worries)[.!,]* (?:if you|let me|feel free|just|you're|happy|glad|i(?:'m| am) (?:glad|happy)|here)\b
    \bnot hesitate to\b|\bno choice but\b|\bcan be given\b|\bused to be {CLAUSE}
    \byes,? (?:yes,? )?i ?(?:understand|know|see|can|could|have read|am (?:aware|sure)|'m (?:aware|sure)|hear|get|\
        have|'ve|realize|agree)\b
    \b(?:sure|certainly|of course|absolutely|okay)?[,.!]? \blet(?: me|'s| us)[^.!?:\n]*
""")
"""Words that say nothing of their own."""
PAIR = any_line(rf"""
    {QUOTED},? ?(?:or|and|nor|noch|/|\u2002|vs\.?|versus|to) ?(?:an? )?(?:[a-z]+ )?{QUOTED}
    [-•] ?yes\s*[-•] ?no\b
    {QUOTED} (?:would|might|could|may|is|was|means?|can|will) {CLAUSE}
""")
"""Both words ("yes" or "no"), or what is said about one of them."""
