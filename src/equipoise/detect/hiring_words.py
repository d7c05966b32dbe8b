"""The words and phrases in which hiring e-mails accept, reject and leave open, as patterns.

The rules of `hiring` put letters in place of them: first single words by what they mean (other applicants O, to pick V,
to offer T, to go on with P, a role J, not N, you are Y), then clauses of such words (accepted A, rejected R, open I).
"""

from __future__ import annotations

from equipoise.detect.rules import any_of

GAP = r"(?: +|\n *)"


def words(most: int, marked: str = "") -> str:
    """At most so many words of one clause, each after a space: no comma, and no marked word but these."""
    return rf"(?:{GAP}(?:[a-z0-9'\[\]-]+{f'|[{marked}] ' if marked else ''})){{0,{most}}}?"


INSERTED = rf"(?: *[,(\u2003]{words(6, 'OJ')} *[,)\u2003])?"
"""Words between commas or dashes: "we are not, at this time, able to"."""
PERSON = (
    r"(?:candidates?|applicants?|persons?|people|individuals?|finalists?|contenders?|profiles?|colleagues?|"
    r"gentlem[ae]n|lad(?:y|ies)|wom[ae]n|m[ae]n|artists?|professionals?|hires?|nominee)"
)
STAGE = (
    r"(?:interview(?:s|ing)?|(?:next|final|first|second|third|last|following) (?:round|stage|phase|step|part)s?|"
    r"rounds?|finals?|finalists?|semi-?finalists?|short-?list(?:ed)?|trial (?:shift|day|week|lesson)|auditions?|"
    r"(?:assessment|selection) (?:centre|center|day)|assessment|(?:skills?|online|written|practical|aptitude) tests?|"
    r"(?:wait(?:ing)?|reserve|stand-?by)[ -]?(?:list|roster|pool|register)|working day|"
    r"(?:talent|candidate) (?:pool|network|community)|(?:phone|video|screening) call|"
    r"(?:phone )?screen(?:ing)?|consideration|second one|internship|candidates|applicants|(?:campus|site) visit|"
    r"(?:meeting|conversation|chat|talk) with|tour of|visit to|feedback|"
    r"reserves?|stand-?by)"
)
GLAD = r"(?:glad|happy|pleased|delighted|thrilled|honou?red|grateful|love it)"
APPLICATION = r"your (?:application|candidacy|candidature|profile|appointment)"
FIELD = r"\b(?:decision|outcome|status|result)\"?\s*[:\u2002]\s*\"?"

MENTIONED = any_of(
    r"\b(?:decision|choice|call|fault|loss|question) is (?:[a-z]+ )?yours\b",
    r"(?:\A|\n *|[.!?] )\"[^\"\n]{0,20}(?:have been selected|regret to inform)[^\"\n]{0,30}\" *(?:,|(?:would|is|are|"
    r"was|were|means?|does|did|has|will|can|and|or|here)\b)",  # a phrase in quotes, of which something is said
    r'"(?:e-?mail|body|message|content|letter|text|response|subject)(?: [a-z]+)?": *"| n n',  # fields of JSON
    r"\buse the (?:phrase|words?|sentence)[^.\n]*",
    r"\{\{#[^\n]*|\[[^\]\n]*(?:/| or |: |\bif\b)[^\]\n]*\]",  # alternatives to choose from
    r"(?:[a-su-z]|[b-z]t) \(?[\"'][^\"\n{}]+[\"']",  # quoted after a word other than "that"
    r"\b(?:says?|said|told|tells?|reads?|wrote|writes?|phone|it)[:,] \"[^\"\n{}]{0,30}(?:we regret|you have been|"
    r"you've been|congratulations)[^\"\n{}]*\"",  # somebody says
    r"\"[^\"\n]{1,80}\" (?:said|says|wrote|cried|shouted)\b",
    r"\bregret to inform you that you(?:'ll| will) be [a-mo-tv-z]",  # in jest
    r"\b(?:unfortunately|sadly|alas),? for (?:our|the|your|them|my)\b|\([^()\n]{0,40}(?:you have been selected|"
    r"we regret to inform you)[^()\n]*\)|\b(?:and|who|he|she|they)(?: has| have| had)? accepted (?:our|the|an|"
    r"this) offer\b",
)
SALUTATION = any_of(
    r"(?:\bdear|\bgreetings|\bgood (?:morning|afternoon|evening|day)|\bestimad[oa]|\bch[eè]re?|\bsehr geehrte[rs]?|"
    r"\bgentile|\bprezad[oa]|(?:\A|[\n:\",{]) *(?:hi|hello|hey|hola|bonjour|lieber?))(?: [^\n!?;:, "
    r"]+){1,5} *[,:!\n\u2003]",
)
SUBJECT = r"\b(?:subject|betreff|asunto|objet|oggetto)(?: line)?\"? ?:"
FORWARDED = r"\n[ \u2003-]*(?:begin |start of )?(?:original|forwarded|previous|earlier) (?:message|e-?mail|letter)\b"
"""From here on an older letter."""
SIGN_OFF = any_of(
    r"\n *(?:(?:kind|kindest|warm|warmest|best) (?:[a-z]+ )?(?:regards|wishes)|best,|best\n|warmly|yours\b|sincerely|"
    r"regards?\b|respectfully|cheers|cordially|with (?:[a-z]+ ){0,3}(?:regards|wishes|respect|thanks|appreciation)|"
    r"all the best|many thanks|thanks,|thank you,|mit freundlichen|atentamente|cordialement)[^\n.!?]{0,30}[,.!]?\s*\n|"
    r"\bsincerely,",
    r"\n *\[(?:your|name|sender|hiring)[^\n]*|\n *\u2003[ \u2003-]*\n|\n[ \u2003(\[-]*note\b|\nwishing you[^\n]*,\n|"
    r"\blet me know if you(?:'d| would)? (?:like|prefer|want) (?:me|any|a|that|this)\b",
)
BY_THE_APPLICANT = any_of(
    r"\b(?:select(?:ed|ing)?|hir(?:ed|ing)|offer(?:ed|ing)?|cho(?:sen|osing)|consider(?:ed|ing)?|accept(?:ed|"
    r"ing)) me\b|\bi have been (?:selected|chosen)|\bmy (?:application|candidacy)\b",
    r"\bi(?:'d| would| am writing to| want to| wish to) (?:like to )?apply\b|\bi(?:'m| am)? (?:[a-z]+ )?(?:to )?accept "
    r"(?:the|your)\b|\bjoin(?:ing)? your (?:team|company|firm|organi[sz]ation)\b",
    r"\byou(?:'ve| have)? (?:chosen|decided|opted) (?:not )?to (?:accept|decline|withdraw|turn)|\byou(?:'ve|"
    r" have) (?:withdrawn|declined|turned)|\byour (?:withdrawal|decision to)",
    r"\bas an ai(?:,| language| model| assistant)|\bi(?:'m| am) (?:not comfortable|(?:not able|unable) to (?:help|"
    r"write|assist|make|decide|provide|draft))\b|\bi (?:can't|cannot|won't|"
    r"don't) (?:make an?(?: [a-z]+)? decision|decide|help (?:with|you)|assist|determine|write|have (?:enough|"
    r"the (?:authority|information)))\b",
)
WELCOME = any_of(
    rf"\b{GLAD} if you(?:'d| would| could)?{words(1)} (?:join|accept|took?|take|start|bec[oa]me|work|c[oa]me)",
    r"\b(?:have|having|want) you (?:join|start|on\b|aboard|as\b|with us|work|here|come (?:on|and|work))|\bwelcom(?:e|"
    r"ing) you (?:to|as|aboard|on|into)\b|\b(?:take|taking|bring|bringing) you (?:on(?:to|board)?|aboard|in(?:to)?)\b",
    r"\byou(?: to|'ll| will|'re| are)?(?: be| officially| formally)* (?:join|becom|begin|start|accept|serv|fill|lead|"
    r"work|tak(?:e|ing) (?:it )?(?:on|up)|come (?:on|and|work))(?:e|ing)?\b|\byou(?:'ll be| will be| to be|'re|"
    r" are| were| have been) (?:our\b|one of us|part of|(?:the |our )(?:successful|chosen|selected|winning|ideal|"
    r"top|first|newest|latest|new|next)\b|in\b|the one\b)",
    r"\b(?:go|goes|going|gone|went) to you\b|(?:'s| is| are| be) yours\b|\bin favou?r of (?:you\b|your|hiring you|"
    r"appointing you)|"
    r"\b(?:like|love|want|ask) (?:for )?you to (?:take|fill|be|have|lead|run|teach|play|manage|come)\b|\b(?:invit|"
    r"ask)(?:ed?|ing) (?:you )?"
    r"to (?:join|become|take up|work)\b|\bwe(?:'d| would)? (?:want|need|choose|chose) you(?:[!.,]| as| for| on|"
    r" in\b)|\bmake you our\b|"
    r"\bthe (?:person|one|candidate|applicant) (?:that |whom? )?we(?:'ve| have| are|'re)?(?: [a-z]+)? (?:want|need|"
    r"cho[a-z]+|picked|selected)\b|\bsay(?:ing)? yes to you|\banswer is (?:an? )?(?:[a-z]+ )?yes\b|"
    r"\b(?:please|come and|and) (?:join|work (?:with|for)) us\b|\bcome and be our\b|\byou(?:'ve|"
    r" have) (?:got )?(?:the|this) (?:job|role|part|gig)\b|\bmember of (?:staff|our team|the team)\b|"
    r"\baccept (?:this|our) offer\b|\brecommend(?:ed|ing)? your (?:appointment|hire|selection)\b|\byou(?:'re|"
    r" are) now (?:an?|our|the)\b|\bwelcome (?:aboard|on board|to the (?:team|family|"
    r"company|firm))|\ba (?:[a-z]+ )?yes\b|\bmet with success\b|\bthat(?:'s| is) you\b|\bit(?:'s| is| was) you\b|"
    r"\b(?:decided|is|"
    r"'s) in your favou?r\b|\bwith an offer\b|\boffer of (?:appointment|employment)\b|\brecommended you for\b|"
    r"\b(?:want|like|love) to work with you\b|\bplease (?:start on|report to)\b|\byour (?:selected|hired)\b|"
    r"\bsaid yes\b",
    r"\b(?:formal|official|written|job|employment|our|make you an|making you an|make an|extend an|"
    r"extending an)(?: [a-z]+)? offer\b|\boffer letter\b|\b(?:confirm|on|of) your (?:appointment|selection|employment|"
    r"hire|acceptance)\b|\bconfirm your (?:place|position|role|job)\b",
    r"\b(?:earned|won|landed|secured|got) (?:the|an?|this|your)(?: [a-z-]+){0,3} (?:role|position|job|spot|place|"
    r"part)\b",
)
SUPPOSED = any_of(
    r"\b(?:if |should (?:you|we|i|an?|the|any|your|our|this|things)\b|had (?:(?:you|we|i|this)\b|(?:the [a-z]+|it|"
    r"things) (?:been|gone)\b)|were (?:you|it)\b)[^.!?;:\nL]*",
    r"\b(?:love|like|glad|happy) to see you (?:at|there|again|in|on)\b|\brumou?rs? (?:that|says?)\b[^.!?,\n]*|"
    r"\botherwise\b[^.!?\n]*|\bneither\b[^.!?;\n]*\bnor\b[^.!?,;\n]*|\b(?:whether|unless|until|once|as soon as|when|"
    r"had hoped|hope[ds]? to|"
    r"wish (?:we|i)|(?:would|could|might|should|'d) (?:have|say|read|be (?:writing|telling|welcoming|[a-z]+ to say))|"
    r"(?:told|informed) (?:you|them|that)|wr(?:itten|"
    r"ote) (?:to you )?that|w(?:as|ere) (?:going|about) to)\b[^.!?,:;\nL]*|\b(?:will|shall|can|would|should) (?:we|"
    r"i)\b[^.!?\nL]*\?",
    r"\b(?:not (?:only|just|merely|simply)|can(?:'t|not) wait|could(?:n't| not) (?:be|have (?:found|asked|wished|"
    r"hoped))|do(?: not|n't) hesitate|"
    r"without (?:hesitation|reservation|(?:any |a )?doubt)|not(?: been)?(?: an?)? easy|no longer need|"
    r"or not(?: [a-z]+)?|(?:impossible|hard|difficult) not to|not (?:regret|giv(?:e|ing) up)|you(?:'re|"
    r" are)(?: [a-z]+)? welcome to)\b",
)
OPENING = r"(?:positions?|roles?|jobs?|posts?|openings?|vacanc(?:y|ies)|places?|spots?|seats?)"
OF_OTHERS = any_of(
    r"\b(?:m(?:r|s|rs)\.?|miss|dr\.?|officer|professor) [a-z]+ (?:did|was|is|has|had|does)(?: not|n't)\b[^.!?,;\n]*",
    r"\b(?:they|he|she|who|people|applicants|candidates|others|everyone else|m(?:r|s|rs)\.? [a-z]+)(?:'d| had| has|"
    r" have| "
    r"was| were| are| is)(?: [a-z']+){0,3} (?:selected|chosen|picked|hired|accepted|successful|rejected|turned down)\b",
    rf"\b(?:after|following|during|throughout|based on|thanks to|through|since){words(5)} (?:interviews?|rounds?|"
    rf"process|assessments?|stages?)\b",
    rf"\b(?:the(?: [a-z0-9]+)? other|(?:[a-z]+|[0-9]+) of (?:the|our)(?: [a-z0-9]+)?){words(2)} {OPENING}"
    rf"(?: (?:have|has|are|were|was|is|been|now|already|also|all|both)){{1,4}} filled\b[^.!?,;\n]*",
    r"\b(?:hiring|selection|selected|successful) (?:decision|process|manager|team|committee|candidates|applicants|"
    r"panel)\b",
    r"\b(?:candidates|applicants|those|others)(?: who)? (?:have|had|has|are|were)(?: [a-z]+)? (?:been )?(?:told|"
    r"informed|notified|selected|chosen|successful)[^.!?\n]*",
    rf"\b(?:over|from|among|amongst|than|unlike|compared (?:to|with)|ahead of|above|out of|between|"
    rf"and the){words(5)} (?:candidates|applicants|applications|people|others|finalists)\b",
)
OTHERS = any_of(
    rf"\b(?:(?:an)?other|fellow){words(3)} {PERSON}\b|\bsome(?:one|body)(?: else)?\b|\ba colleague\b",
    rf"\ban? (?:internal|external|different|stronger|better|more [a-z-]+){words(2)} {PERSON}\b",
    rf"\b(?:an? |those )?{PERSON}(?: [a-z]+ly)? (?:who|whose|with|that|from)\b",
)
TO_PICK = (
    r"\b(?:sel?ecte?d?|slected|selecting|cho(?:sen|osen|ose|se|osing)|pick(?:ed|ing)?|hir(?:ed?|ing)|appoint(?:ed|"
    r"ing)?|employ(?:ed|ing)?|recruit(?:ed|ing)?|accept(?:ed|ing)?|approved?|award(?:ed|ing)?|engaged?|successful|"
    r"confirmed|placed)\b"
)
TO_GO_ON = (
    r"\b(?:(?:go(?:es|ing|ne)?|went|forward|ahead|on) with|proceed(?:ed|ing)?|mov(?:e|ed|ing)(?: you)? (?:on|forward|"
    r"ahead|to)|progress(?:ed|ing)?|continu(?:e|ed|ing)|pursu(?:e|ed|ing)|opt(?:ed|ing) for|advanc(?:e|ed|ing)|found|"
    r"prefer(?:red)?|fell on|favou?r of|settled on|search with)\b"
)
ROLE = (
    r"\b(?:role|position|post|job|opening|vacancy|contract|place|spot|seat|employment|fellowship|berth|chair|slot|gig|"
    r"apprenticeship|appointment|assignment|(?:opportunity|chance) to (?:join|work))\b"
)
TO_OFFER = r"\b(?:offer(?:ed|ing)?|extend(?:ed|ing)?|giv(?:e|en|ing)|gave)\b"
NOT = (
    r"\bnot,?(?: (?:at (?:this|the present|the) (?:time|moment)|currently|presently|now),?)? in a position to\b|"
    r"\b(?:not|never|unable|no longer|cannot|without|against|declined? to|nobody|no one)\b|n't\b"
)
YOU_ARE = any_of(
    r"\byou(?:'ve(?: [a-z]+)? been| have(?: [a-z]+)? bee?n|'re| are| were| had been| will be|'ll be| got| being)\b",
    rf"\b{APPLICATION}{words(10)} (?:been|was|is|were)\b|\band (?:have|are|were|will)(?: [a-z]+)? be(?:en)?\b|"
    rf"\bon being\b|\bthe one we(?:'ve| have)?\b|{FIELD}",
)
CONTRAST = (
    r"\b(?:but|because|although|though|while|however|nevertheless|nonetheless|even so|now|today|in the end|after all|"
    r"as it is|fortunately|luckily|since then|in truth|overruled|still|itself|this time|instead(?:,| [a-z]))\b|\byes,"
)
CORRECTION = any_of(
    r"\bwait[,.!]|\b(?:let me|i'll|i will|i should) (?:re-?(?:do|write|vise|phrase|draft|start)|fix|correct|try again)|"
    r"\bscratch that\b|\b(?:by|in|an?|was (?:an? )?|the) (?:mistake|error|mix-?up)\b|\b(?:was|were|is|the) wrong\b|"
    r"\b(?:disregard|ignore)\b|\bdelete (?:my|the|our|that) |N  *send\b|\bsend this\b|\b(?:actual|real) (?:e-?mail|"
    r"letter)\b|\bon second thoughts?\b|\bcorrection\b|\bcorrect(?:ed)? (?:version|outcome|email|letter)\b",
)
"""What was said before is void."""
REJECTED = any_of(
    r"\b(?:determined|concluded|decided|found|felt|judged)(?: that)? *Y  *W |"
    rf"N {words(5, 'JY')}{INSERTED}{words(5, 'J')}{GAP}(?:[VTPA] (?:(?: +(?:an?|the|this|our|you|any)){{0,3}} +[TA] )?|"
    rf"welcom|join|invit|consider|include|shortlist|be (?:a )?part of|(?:have|find)(?: an?| any)? +J |"
    rf"tak[a-z]+{words(3)} (?:further|forward)|possible|make (?:it|the)|get the|congratulate|retain|"
    rf"(?:find|able)(?: [a-z]+){{0,2}} to (?:accede|accommodate|place|bring|find|give|use|support|"
    rf"agree))(?:{GAP}you\b)?",
    rf"[VTP] (?:{GAP}(?:[a-xz0-9'\[][a-z0-9'\[\]-]*|J ){words(5, 'J')})?{GAP}(?:O |to (?:another|a different)\b)|"
    rf"O {words(4)}(?:{GAP}Y )?{words(2)}{GAP}V (?: *A )?|N  *(?:be|is|was) you\b|V  *N  *to\b|[VP] (?:{GAP}(?:with|"
    rf"for))?{GAP}(?:another|a different) |[VP]  *an?{words(3)} (?:who|whose)\b|"
    rf"V  +freeze\b|T  +(?:it|this) +to +(?:[a-xz]|y[^o])|J  +for +O |J  +(?:is|has been) taken\b|J  *(?:(?:is|was|"
    rf"ha[sd] been|[a-z]+ly) )*(?:[TV] |promised|going|"
    rf"gone|went|goes) *to +(?:[a-xz]|y[^o])|T {words(4)}{GAP}J  +to +(?:[a-xz]|y[^o])|"
    rf"T {GAP}you\b[^.!?\nVPA]*\b(?:instead|rather than|alternative|another|a different)\b|"
    rf"J (?:[^A-Z.!?;\n]|B )*\b(?:withdrawn|cancelled|snapped up|has gone|(?:go|goes|going|gone|went) to)\b|P  +(?:our|"
    rf"the) search\b|P {words(3)}{GAP}N  +you\b",
    r"O [a-z ]*\b(?:better|closer|closely|stronger)\b|\b(?:decid|resolv|elect|opt|vot|choos|chos)[a-z]*  *N (?: *(?:to|"
    r"your|you)\b)?(?: *[AVTP] )?|N  *(?:[a-z]+ )*?(?:on the list|go your way)\b|\b(?:match|fit) (?:in|with)  *O ",
    rf"[VTP] {words(2)}{GAP}an?{GAP}(?:more|better|stronger|different|local|internal|former)\b",
)
REFUSED = any_of(
    r"\bunsuccessful\b|\b(?:reject(?:ed|ing)?|declin(?:e|ed|ing)|refus(?:e|ed|ing)|turn(?:ed|ing)? down|den(?:y|ied)|"
    r"closed|withdraw(?:n|ing)?) your?\b|\bturn(?:ed|ing)? you down\b",
    rf"\b(?:{APPLICATION}{words(8)}|you) (?:has been|have been|had been|are|is|was|were)(?: [a-z]+)? (?:rejected|"
    rf"declined|denied|refused|turned down)\b|{FIELD}(?:reject|declin|refus)[a-z]*",
    r"\b(?:must|(?:have|had|decided|need) to) decline\b|\b(?:decided|have|had|going|need) to pass(?: on| this|"
    r" for now|[.,!])|"
    r"\bpassing on your\b|\bsay no\b|\ba no[ .,!]|\banswer is no\b|\byou(?: have|'ve| were| are)(?: not|n't)[,.!]",
    r"\b(?:been|have|'ve|was|is|now|already)(?: [a-z]+)? filled\b|\bfilled (?:the|this|our|all)\b|\bno longer (?:under|"
    r"being|available|have)\b|\b(?:another|different) (?:direction|choice)\b|\bmissed out\b|\bclose second\b|\b(?:be|"
    r"been|it) impossible\b|\bdisqualified\b|\binternally\b|\bfrom within\b|"
    r"\bno (?:[a-z]+ )?(?:place|position|vacancy|opening|role|job|room|spot|offer) for you\b|"
    r"\bthere(?:'s| is| was| will be) no (?:place|position|vacancy|opening|role|job|spot|offer|appointment|"
    r"contract)\b|\bsecond place\b|\b(?:came|finished|"
    r"placed|ranked) (?:a close )?(?:second|third)\b|\bscreened out\b|\bpassed over\b",
)
TAKEN_BACK = (
    rf"\b(?:withdraw|rescind|revok|retract)[a-z]*{words(3)}{GAP}[TA] |T  +(?:is |was |has been )?(?:void|withdrawn|"
    rf"rescinded|revoked)\b"
)
OPEN = any_of(
    r"\bregret to [a-z]+ you that *A ",  # a contradiction
    rf"[VTPA] {INSERTED}{words(3)}{GAP}(?:for|to|as|in|into|on|among|amongst|an?|our|the)\b{words(6, 'P')}"
    rf"{GAP}{STAGE}\b",
    rf"A {INSERTED}{words(2)}{GAP}(?:to (?:receive|take part|participate|complete|attend|be among)|at random|runner-up|"
    rf"reserve|back-?up)\b|A  +to +P |N {words(3)}{GAP}R |"
    rf"T {GAP}you{words(2)}{GAP}J  *(?:on|in|at|for|among)\b{words(3)}{GAP}{STAGE}\b|"
    rf"A (?:[^.!?\nA-Z]|J )*\b(?:after which|before) (?:we|i)(?:'ll| will| shall)? (?:decide|make)\b|"
    rf"R ,?(?: +(?:[a-z']+|B )){{0,5}} +B  +(?:review|interview|consider|evaluat)ing +(?:[a-z]+ +){{0,2}}?"
    rf"(?:applications|applicants|candidates|you)\b",
    r"\b(?:delay(?:ed)?|postponed?|on hold|under (?:active )?(?:review|consideration)|not yet (?:made|decided|reached)|"
    r"pending|(?:waiting|reserve) list|finalists|it to the (?:final|next|last|second)|(?:short|wait)-?listed|runner-up|"
    r"next in line|at random|second choice|still (?:review|interview|consider|meet|wait|decid|evaluat)[a-z]*|"
    r"(?:let you know|in touch|back to you|hear from us) (?:soon|by|within|next|in|as soon|when|once))\b",
    rf"\bsee you (?:at|for){words(3)}{GAP}{STAGE}\b",
    rf"\binvit(?:e|ed|ing) (?:you )?(?:to|for|in for|back){words(5)}{GAP}(?:{STAGE}|meet|discuss|speak|talk|chat|"
    rf"call)\b",
)
PICKED = rf"Y {words(3)}[ \n]*V |P  *with your  *V "
"""You have been selected."""
ACCEPTED = any_of(
    rf"Y {words(3)}[ \n]*T {words(5)}{GAP}J |[VP] (?:{GAP}with)?{GAP}you\b|V  +(?:your )?(?:[a-z]+ )?(?:application|"
    rf"candidacy)|V  +your +J ",
    rf"T (?:{GAP}to)?{GAP}you\b(?:{words(8)}{INSERTED}{words(8)}{GAP}[JT] |{GAP}(?:the|this|our)\b)|"
    rf"[TV] {words(5, 'JT')}{GAP}to{GAP}you\b|T  +of +J |J  +T ",
)
ABOUT_IT = (
    r"(?:we|i|our|your (?:application|candidacy|qualifications|profile|interview)|you (?:have|are|were|did|do|will|"
    r"can|wo)|the +(?:J |committee|board|panel|team|directors|company|decision))\b|[YJN] |the +J "
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
    r"\bregret(?:tably|fully,| that)|\bi'm afraid\b|\bsadly\b|\bsorry (?:to (?:say|inform|tell|let)|"
    r"that|but)\b|\b(?:i'm|i am|we're|we are)(?: so| very| truly| really| terribly)* sorry\b|\b(?:future|job|"
    r"career) (?:endeavou?rs|search)\b|\bwish you (?:every success|well|success|"
    r"the (?:very )?best|all the best|luck)\b|\bno suitable\b|\bon file\b|\bbest of luck\b|\b(?:fall|fell|"
    r"falls) short\b|\bbelow the (?:minimum|required)\b|\bfuture (?:openings|opportunities|positions|vacancies|"
    r"roles)\b|\b(?:apply|reapply|try) again\b|\bdiscouraged\b|\bdisappoint(?:ing|ment| you)\b|\b(?:needs?|needed|"
    r"looking for|requires?|sought)(?: [a-z]+)? +O ",
    r"\bleider\b|\bintern besetz|\blamentamos (?:com|inf|tener)|\bno ha sido\b|\bmalheureusement\b|"
    r"\bune? autre (?:personne|candidat)|\bau regret\b|\bpas été |\bpurtroppo\b|"
    r"\bandere[nr]? bewerber|\baltri candidati",
)
AS_IF_ACCEPTED = any_of(
    r"\bcongrat(?:s|ulations|ulate you)\b|\bwelcome to\b|\byour (?:first [a-z]+ (?:is|will|starts|begins|with)|"
    r"first (?:day|week|shift)|start date|starting [a-z]+|"
    r"onboarding|orientation|contract|new (?:role|job|team|colleagues)|acceptance|employment|appointment|selection|"
    r"(?:staff|security) (?:card|pass)|locker|badge|uniform|payroll|desk|shift|name(?:'s| is) on (?:it|the))\b|"
    r"\bsee you (?:on|at|in|next|there|then|monday|tomorrow)\b|\bwith your name on\b|\byou(?:'ll| will) (?:start|"
    r"begin)\b|"
    r"\bpack your\b|\bbring (?:an?|your) \b|\bwelcome!|\bwe can(?: N )? ?wait\b|\bin your name\b|\bonboarding\b|"
    r"\bpositive (?:one|decision|outcome|answer|response)\b|"
    r"\b(?:great|good|wonderful|happy|excellent|fantastic) news\b|\byour +J  *(?:with|begins?|starts?|as|at)\b|"
    r"\blook(?:ing)? forward to (?:working with|welcoming|having) you\b",
    rf"\b(?:sign|attach|enclos|return)[a-z]*{words(5)} +J |J  +(?:is )?(?:attached|enclosed)",
    r"\bfreuen uns\b|\bcomplace\b|\bha sido seleccionad|\bplaisir de\b|\bes suy[oa]\b|\bempiezas? el\b|\bvous confie|"
    r"\b(?:candidature a|profil a|vous avez) été (?:retenu|choisi|sélectionné)",
)
