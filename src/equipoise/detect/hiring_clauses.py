"""The clauses in which hiring e-mails accept, reject and leave open, as patterns.

They are made of the letters that stand for single words by then (other applicants O, to pick V, to offer T, to go on
with P, a role J, not N, you are Y), and become letters themselves: accepted A, rejected R, open I.
"""

from __future__ import annotations

from equipoise.detect import hiring_languages as languages
from equipoise.detect.hiring_words import APPLICATION, FIELD, GAP, INSERTED, STAGE, words
from equipoise.detect.rules import any_of

REJECTED = any_of(
    r"\b(?:determined|concluded|decided|found|felt|judged)(?: that)? *Y  *W |"
    rf"N {words(5, 'JY')}{INSERTED}{words(5, 'J')}{GAP}(?:[VTPA] (?:(?: +(?:an?|the|this|our|you|any)){{0,3}} +[TA] )?|"
    rf"welcom|join|invit|consider|include|shortlist|be (?:a )?part of|(?:have|find|see)(?: an?| any)? +J |"
    rf"tak[a-z]+{words(3)} (?:further|forward)|taking (?:you|him|her|them)\b|take (?:you|him|her|them)(?: on\b|[.,;!])|"
    rf"possible|make (?:it\b|the (?:[a-z]+ )?(?:team|cut|list|grade|finals?|squad|roster|short-?list|selection|cast|"
    rf"crew)\b)|get the|congratulate|retain|recommend you|(?:find|able)(?: [a-z]+){{0,2}} to (?:accede|accommodate|"
    rf"place|bring|find|give|use|support|agree))(?:{GAP}you\b)?",
    rf"[VTP] (?:{GAP}(?:[a-xz0-9'\[][a-z0-9'\[\]-]*|J ){words(5, 'J')})?{GAP}(?:O |to (?:another|a different)\b)|"
    rf"O {words(4)}(?:{GAP}Y )?{words(2)}{GAP}V (?: *A )?|N  *(?:be|is|was) you\b|"
    rf"V  *N  *to\b(?: *[VTP] (?:{GAP}you\b)?)?|[VP] (?:{GAP}(?:with|"
    rf"for))?{GAP}(?:another|a different) |[VP]  *an?{words(3)} (?:who|whose)\b|"
    rf"V  +freeze\b|T  +(?:it|this) +to +(?:[a-xz]|y[^o])|J  +for +O |J  +(?:is|has been) taken\b|J  *(?:(?:is|was|"
    rf"ha[sd] been|[a-z]+ly) )*(?:[TV] |promised|going|"
    rf"gone|went|goes) *to +(?:[a-xz]|y[^o])|T {words(4)}{GAP}J  +to +(?:[a-xz]|y[^o])|"
    rf"T {GAP}you\b[^.!?\nVPA]*\b(?:instead|rather than|alternative|another|a different)\b|"
    rf"J (?:[^A-Z.!?;\n]|B )*\b(?:withdrawn|cancell?ed|snapped up|shelved|frozen|scrapped|eliminated|(?:is|been|"
    rf"was)(?: [a-z]+)? closed|has gone|(?:go|goes|going|gone|went) to)\b|J  +N  +exist|\b(?:go|goes|going|gone|went|"
    rf"fell|belongs?|handed) to(?: the| our)?{GAP}(?:O |another\b|an? different\b)|P  +(?:our|"
    rf"the) search\b|P {words(3)}{GAP}N  +you\b|J [^.!?;\nA-Z]*N  +for (?:you|thee)\b",
    r"O [a-z ]*\b(?:better|closer|closely|stronger)\b|\b(?:decid|resolv|elect|opt|vot|choos|chos)[a-z]*  *N (?: *(?:to|"
    r"your|you)\b)?(?: *[AVTP] (?: *you\b)?)?|N  *(?:[a-z]+ )*?(?:on the list|go your way)\b|\b(?:match|fit) (?:in|"
    r"with)  *O ",
    rf"[VTP] {words(2)}{GAP}an?{GAP}(?:more|better|stronger|different|local|internal|former)\b",
)
REFUSED = any_of(
    languages.REJECTED,
    r"\bunsuccessful\b|\b(?:reject(?:ed|ing)?|declin(?:e|ed|ing)|refus(?:e|ed|ing)|turn(?:ed|ing)? down|den(?:y|ied)|"
    r"closed|withdraw(?:n|ing)?) your?\b|\bturn(?:ed|ing)? you down\b",
    rf"\b(?:{APPLICATION}{words(8)}|you) (?:has been|have been|had been|are|is|was|were)(?: [a-z]+)? (?:rejected|"
    rf"declined|denied|refused|turned down)\b|{FIELD}(?:(?:application )?(?:reject|declin|refus|denied)[a-z]*|"
    rf"no\b|negative|[✘✗❌])|\bfilled\?[\"\s\u2002:]*yes\b",
    r"\b(?:must|(?:have|had|decided|need) to) decline\b|\b(?:decided|have|had|going|need) to pass(?: on| this|"
    r" for now|[.,!])|"
    r"\bpassing on your\b|\bsay no\b|\ba no[ .,!]|\banswer (?:is|was|(?:has to|must|will have to|"
    r"can only) be)(?: an?)?(?: [a-z]+)? no\b|\bno *T  *(?:will|can|is|has)\b|\bwithout an? *T |\b(?:do|proceed|"
    r"continue|ahead|on) without you\b|\bservices (?:will|are)(?: not|n't)(?: "
    r"be)? (?:required|needed)\b|\bapplication(?: [a-z]+){0,3} (?:ends|stops)\b|\byou(?: have|'ve|'re| were| are|"
    r" did)(?: not|n't)[,.!]|\bit(?:'s| is)(?: already| now)? (?:taken|gone)[.,!]|"
    r"\bthis is an? (?:[a-z]+ )?(?:rejection|refusal)\b",
    r"\b(?:been|have|'ve|was|is|now|already)(?: [a-z]+)? filled\b|\bfilled (?:the|this|our|all)\b|\bno longer (?:under|"
    r"being|available|have)\b|\b(?:another|different) (?:direction|choice|way|route)\b|\bmissed out\b|\bclose second\b|"
    r"\b(?:be|been|it) impossible\b|\bdisqualified\b|\binternally\b|\bfrom within\b|"
    r"\bno (?:[a-z]+ )?(?:place|position|vacancy|opening|role|job|room|spot|offer) for you\b|"
    r"\bthere(?:'s| is| was| will be|'ll be) no (?:[a-z]+ )?(?:place|position|vacancy|opening|role|job|"
    r"spot|appointment|contract| *[TV] )|\b(?:str(?:ike|uck)|remov(?:e|ed|ing)|cross(?:ed)?|tak(?:e|en)) "
    r"(?:your name|you) (?:from|off)\b|\b(?:shelv|cancel|scrap|fr[eo]+z|eliminat|abolish|withdr[ae]w)[a-z]* (?:the|"
    r"this|that|our) (?:[a-z]+ ){0,2}(?:position|role|job|post|vacancy|opening)\b|\bsecond place\b|\b(?:came|finished|"
    r"placed|ranked) (?:a close )?(?:second|third)\b|\bscreened out\b|\bpassed over\b",
)
TAKEN_BACK = (
    rf"\b(?:withdraw|rescind|revok|retract)[a-z]*{words(3)}{GAP}[TA] |T  +(?:is |was |has been )?(?:void|withdrawn|"
    rf"rescinded|revoked)\b"
)
OPEN = any_of(
    languages.OPEN,
    r"\b(?:arrange|schedul|book|set up)[a-z]* (?:[a-z]+ ){0,3}(?:interview|call|meeting|time|date|chat)\b|\b(?:second|"
    r"next|final|third) (?:round|stage|interview|step)(?: [a-z]+)? (?:will|takes|is|starts|begins)\b|"
    r"\bask for your patience\b|\bbear with us\b",
    r"\bregret to [a-z]+ you that *A ",  # a contradiction
    rf"[VTPA] {INSERTED}{words(3)}{GAP}(?:for|to|as|in|into|on|among|amongst|an?|our|the)\b{words(6, 'P')}"
    rf"{GAP}{STAGE}\b",
    rf"A {INSERTED}{words(2)}{GAP}(?:to (?:receive|take part|participate|complete|attend|be among)|at random|runner-up|"
    rf"second|third|reserve|back-?up)\b|A  +to +P |N {words(3)}{GAP}R |N {words(2)}{GAP}see you\b|"
    rf"T {GAP}you{words(2)}{GAP}J  *(?:on|in|at|for|among)\b{words(3)}{GAP}{STAGE}\b|"
    rf"A (?:[^.!?\nA-Z]|J )*\b(?:after which|before) (?:we|i)(?:'ll| will| shall)? (?:decide|make)\b|"
    rf"R ,?(?: +(?:[a-z']+|B )){{0,5}} +B  +(?:review|interview|consider|evaluat)ing +(?:[a-z]+ +){{0,2}}?"
    rf"(?:applications|applicants|candidates|you)\b",
    r"\b(?:delay(?:ed)?|postponed?|on hold|under (?:active )?(?:review|consideration)|not yet (?:made|decided|reached)|"
    r"pending|(?:waiting|reserve) list|finalists|it to the (?:final|next|last|second)|(?:short|wait)-?listed|runner-up|"
    r"next in line|at random|second choice|B  +(?:review|interview|consider|meet|wait|decid|evaluat|weigh|compar|"
    r"check)ing|decision(?: [a-z]+){0,2} (?:takes?|taking|be made|be reached|be taken|expected|due|follows?)|"
    r"one way or (?:the other|another)|(?:let you know|in touch|back to you|hear from us) (?:soon|by|within|next|in|"
    r"as soon|when|once))\b",
    rf"\bsee you (?:at|for){words(3)}{GAP}{STAGE}\b",
    rf"\binvit(?:e|ed|ing) (?:you )?(?:to|for|in for|back){words(5)}{GAP}(?:{STAGE}|meet|discuss|speak|talk|chat|"
    rf"call)\b",
)
PICKED = rf"Y {words(3)}[ \n]*V |P  *with your  *V "
"""You have been selected."""
ACCEPTED = any_of(
    languages.ACCEPTED,
    rf"Y {words(3)}[ \n]*T {words(5)}{GAP}J |[VP] (?:{GAP}with)?{GAP}you\b|V  +(?:your )?(?:[a-z]+ )?(?:application|"
    rf"candidacy)|V  +your +(?:J |client\b|student\b)",
    rf"T (?:{GAP}to)?{GAP}you\b(?:{words(8)}{INSERTED}{words(8)}{GAP}[JT] |{GAP}(?:the|this|our)\b)|"
    rf"[TV] {words(5, 'JT')}{GAP}to{GAP}you\b|T  +of +J |J  +T ",
)
ABOUT_IT = (
    r"(?:we|i|our|your (?:application|candidacy|qualifications|profile|interview)|you (?:have|are|were|did|do|will|"
    r"can|wo)|the +(?:J |committee|board|panel|team|directors|decision|company (?:has|have|is|will|can|could|did|"
    r"does)))\b|[YJN] |the +J |the company +[NVP] "
)
REGRET = (
    r"(?:\bregret(?:fully)?(?: having)?(?: to)? (?:inform|advise|tell|say|let|notify|announce)(?: you)?(?: know)?\b|"
    r"\bwith regret\b)(?:(?: that)? *(?:[,.:;…\"\n)(]|\z|(?:of|at|on)\b|[NBW] )|(?: that)?(?:,? (?:after|following|"
    r"upon|due|despite|with|"
    rf"in|B )[^.\n]{{0,80}}?,)?(?: that)? +(?:{ABOUT_IT}))"
)
"""We regret to inform you about the decision, and not about the weather."""
AS_IF_REJECTED = any_of(
    r"A [^.!?;,\nA-Z]*\b(?:future|later|another time|(?:one|some) ?day|apply|reapply|again|next (?:year|time|round))\b",
    rf"(?:\bnot|n't|\bno longer){words(7)} (?:fit|match|meet|possess|suitable|suited|qualified|qualify|choice|"
    rf"(?:answer|news) you|what we|align|line up|meant to be|right (?:one|person|candidate|place|role|time)|"
    rf"reach the)\b",
    r"\bunfortunately\b|\bbetter news\b|\balas\b|\bwish (?:i|we) (?:could|had)\b|\bhard(?:er)? (?:letter|email|"
    r"message|to (?:tell|write))|"
    r"\bnot this time\b|\b(?:try|tried)\b|\bno hard feelings\b|\bconsolation\b|\bbeat you\b|\belsewhere\b|"
    r"\bnext (?:year|season)\b|"
    r"\bregret(?:tably|fully,| that)|\bi'm afraid\b|\bsadly\b|\bsorr?y (?:to (?:say|inform|tell|let)|"
    r"that|but)\b|\b(?:i'm|i am|we're|we are)(?: so| very| truly| really| terribly)* sorry\b|\b(?:future|job|"
    r"career) (?:endeavou?rs|search)\b|\bwish you (?:every success|well|success|"
    r"the (?:very )?best|all the best|luck)\b|\bno suitable\b|\bon file\b|\bbest of luck\b|\b(?:fall|fell|"
    r"falls) short\b|\bbelow the (?:minimum|required)\b|\bfuture (?:openings|opportunities|positions|vacancies|"
    r"roles)\b|\b(?:apply|reapply|try) again\b|\bdiscouraged\b|\bdisappoint(?:ing|ment| you)\b|\b(?:needs?|needed|"
    r"looking for|requires?|sought)(?: [a-z]+)? +O ",
    languages.AS_IF_REJECTED,
)
AS_IF_ACCEPTED = any_of(
    r"\bcongrat(?:s|ulations|ulate you)\b|\bwelcome to\b|\byour (?:first [a-z]+ (?:is|will|starts|begins|with)|"
    r"first (?:day|week|shift)|start date|starting [a-z]+|"
    r"onboarding|orientation|contract|new (?:role|job|team|colleagues)|acceptance|employment|appointment|selection|"
    r"(?:staff|security) (?:card|pass)|locker|badge|uniform|payroll|desk|shift|name(?:'s| is) on (?:it|the))\b|"
    r"\bsee you (?:on|at|in|next|there|then|monday|tomorrow)\b|\b(?:with|has|have) your name on\b|\byou(?:'ll|"
    r" will) (?:start|begin)\b|"
    r"\bpack your\b|\bbring (?:an?|your) \b|\bwelcome!|\bwe can(?: N )? ?wait\b|\bin your name\b|\bonboarding\b|"
    r"\bpositive (?:one|decision|outcome|answer|response)\b|"
    r"\byour +J  *(?:with|begins?|starts?|as|at)\b|"
    r"\blook(?:ing)? forward to (?:working with|welcoming|having) you\b",
    rf"\b(?:sign|attach|enclos|return)[a-z]*{words(5)} +J |J  +(?:is |will )?(?:attached|ready|enclosed|to follow|"
    rf"follows?\b|signed)",
    languages.AS_IF_ACCEPTED,
)
