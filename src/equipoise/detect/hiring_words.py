"""The words of hiring e-mails, as patterns: where a letter begins and ends, what says nothing, what words mean.

The rules of `hiring` put letters in place of them, and then in place of the clauses of `hiring_clauses`.
"""

from __future__ import annotations

from equipoise.detect import hiring_languages as languages
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
    r"(?:talent|candidate|applicant|alumni) (?:pool|network|community|"
    r"database|bank|list|programme?)|newsletter|mailing list|survey|prize draw|we (?:invited?|met|interviewed|saw)|"
    r"(?:phone|video|screening) call|(?:phone )?screen(?:ing)?|consideration|second one|internship|candidates|"
    r"applicants|(?:campus|site) visit|(?:meeting|conversation|chat|talk) with|tour of|visit to|feedback|"
    r"reserves?|stand-?by)"
)
GLAD = r"(?:glad|happy|pleased|delighted|thrilled|honou?red|grateful|love it)"
APPLICATION = r"your (?:application|candidacy|candidature|profile|appointment)"
FIELD = r"\b(?:decision|outcome|status|result|verdict)(?: code)?\"?\s*[:\u2002]\s*\"?"

MENTIONED = any_of(
    r"\b(?:decision|choice|call|fault|loss|question) is (?:[a-z]+ )?yours\b",
    r"(?:\A|\n *|[.!?] )\"[^\"\n]{0,20}(?:have been selected|regret to inform)[^\"\n]{0,30}\" *(?:,|(?:would|is|are|"
    r"was|were|means?|does|did|has|will|can|and|or|here)\b)",  # a phrase in quotes, of which something is said
    r'"(?:e-?mail|body|message|content|letter|text|response|subject)(?: [a-z]+)?": *"| n n',  # fields of JSON
    r"\buse the (?:phrase|words?|sentence)[^.\n]*",
    r"\{\{#[^\n]*|\[[^\]\n]*(?:/| or |: |\bif\b)[^\]\n]*\]",  # alternatives to choose from
    r"(?:[a-su-z]|[b-z]t|/) \(?[\"'][^\"\n{}]+[\"']",  # quoted after a word other than "that"
    r"\byou(?:'ve| have) been (?:selected|chosen)[ ,\u2003]+is what (?:we|i)\b",
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
    r"\bgentile|\bprezad[oa]|\bquerid[oa]|(?:\A|[\n:\",{\u2002]) *(?:hi|hello|hey|hola|bonjour|liebe[rs]?|guten tag|"
    r"madame|monsieur))(?: [^\n!?;:, ]+){1,5} *[,:!\n\u2003]|(?:\A|"
    r"Z [^\n]*\n)\s*(?:[a-z.'-]+ ){0,4}[a-z.'-]+,\n",  # a name in a line
)
SUBJECT = r"\b(?:subject|betreff|asunto|objet|oggetto)(?: line)?\"? ?[:\u2002]"
FORWARDED = r"\n[ \u2003-]*(?:begin |start of )?(?:original|forwarded|previous|earlier) (?:message|e-?mail|letter)\b"
"""From here on an older letter."""
SIGN_OFF = any_of(
    r"\n *(?:(?:kind|kindest|warm|warmest|best) (?:[a-z]+ )?(?:regards|wishes)|best,|best\n|warmly|yours\b|sincerely|"
    r"regards?\b|respectfully|cheers|cordially|with (?:[a-z]+ ){0,3}(?:regards|wishes|respect|thanks|appreciation)|"
    r"all the best|many thanks|thanks,|thank you,|mit (?:freundlichen|besten|herzlichen)|(?:viele|beste|liebe|"
    r"herzliche) gr|atentamente|un (?:cordial )?(?:saludo|abrazo)|saludos|cordialement|bien cordialement|"
    r"bien à )[^\n.!?]{0,30}[,.!]?\s*\n|\bsincerely,",
    r"\n *\[(?:your|name|sender|hiring)[^\n]*|\n *\u2003[ \u2003-]*\n|\n[ \u2003(\[-]*note\b|\nwishing you[^\n]*,\n|"
    r"\blet me know if you(?:'d| would)? (?:like|prefer|want) (?:me|any|a|that|this)\b",
)
NO_DECISION = any_of(
    r"\b(?:select(?:ed|ing)?|hir(?:ed|ing)|offer(?:ed|ing)?|cho(?:sen|osing)|consider(?:ed|ing)?|accept(?:ed|"
    r"ing)) me\b|\bi have been (?:selected|chosen)|\bmy (?:application|candidacy)\b",
    r"\bi(?:'d| would| am writing to| want to| wish to) (?:like to )?apply\b|\bi(?:'m| am)? (?:[a-z]+ )?(?:to )?accept "
    r"(?:the|your)\b|\bjoin(?:ing)? your (?:team|company|firm|organi[sz]ation)\b",
    r"\byou(?:'ve| have)? (?:chosen|decided|opted) (?:not )?to (?:accept|decline|withdraw|turn)|\byou(?:'ve|"
    r" have) (?:withdrawn|declined|turned)|\byour (?:withdrawal|decision to)|\bi (?:[a-z]+ ){0,3}declin(?:e|"
    r"ing) (?:your|the)(?: [a-z]+)? offer\b",
    r"\bas an ai(?:,| i\b| language| model| assistant)|\bi(?:'m| am) (?:not comfortable|(?:not able|unable) to (?:help|"
    r"write|assist|make|decide|provide|draft))\b|\bi(?:'d| would) rather not (?:write|help|draft)|\bi (?:can't|cannot|"
    r"won't|don't) (?:be able to )?(?:make an?(?: [a-z]+)? decision|decide|help (?:with|you)|assist|determine|write|"
    r"have (?:enough|the (?:authority|information)))\b",
    r"\bno (?:[a-z]+ )?decisions?(?: [a-z]+){0,5} (?:made|reached|taken)\b|(?:\bnot|n't|\byet)(?: yet| been able|"
    r" in a position)*(?: to)? (?:made?|reach(?:ed)?|taken?|come to|arrived? at) (?:an?|any|our final|the final)"
    r"(?: final| firm| definit[a-z]+| hiring)? (?:decision|conclusion|choice)\b|\bdecision (?:[a-z]+ ){0,5}(?:pending|"
    r"outstanding|yet to be|not yet|not been|has(?:n't| not) (?:yet )?been)\b|\b(?:still|currently|(?:is|are|remains?)"
    r" under|(?:is|are) actively)(?: active| actively| being| under)* (?:considered|consideration|reviewed|review|"
    r"assessed|evaluated)\b|\bnot a no\b|\bundecided\b|\b(?:waiting|wait|reserve|stand-?by)[ -]?list\b|"
    r"\bnext on (?:our|the|my) list\b",  # no decision yet
    languages.NO_DECISION,
)
WELCOME = any_of(
    rf"\b{GLAD} if you(?:'d| would| could)?{words(1)} (?:join|accept|took?|take|start|bec[oa]me|work|c[oa]me)",
    r"\b(?:have|having|want) you (?:join|start|on\b|aboard|as\b|with us|work|here|come (?:on|and|work))|\bwelcom(?:e|"
    r"ing) you (?:to|as|aboard|on|into)\b|\b(?:take|taking|bring|bringing) you (?:on(?:to|board)?|aboard|in(?:to)?)\b",
    r"\byou(?: to|'ll| will|'re| are)?(?: be| officially| formally)* (?:join|becom|begin|start|accept|serv|fill|lead|"
    r"work|tak(?:e|ing) (?:it )?(?:on|up)|come (?:on|and|work))(?:e|ing)?\b|\byou(?:'ll be| will be| to be|"
    r"'re(?: to be)?| are(?: to be)?| were| have been) (?:our\b|one of us|part of|(?:the |our )(?:successful|chosen|"
    r"selected|winning|ideal|top|first|newest|latest|new|next)\b|in\b|(?:the|that) one\b)",
    r"\b(?:go|goes|going|gone|went) to you\b|\b(?:is|are|be|[a-z]+'s) (?:yours|thine)\b|\bin favou?r of (?:you\b|your|"
    r"hiring you|appointing you)|"
    r"\b(?:like|love|want|ask) (?:for )?you to (?:take|fill|be|have|lead|run|teach|play|manage|come)\b|\b(?:invit|"
    r"ask)(?:ed?|ing) (?:you )?"
    r"to (?:join|become|take up|work)\b|\bwe(?:'d| would)? (?:want|need|choose|chose|like|love) you(?:[!.,]| as| for|"
    r" on| at| with| in\b)|\bmake you our\b|"
    r"\bthe (?:person|one|candidate|applicant) (?:that |whom? )?we(?:'ve| have| are|'re)?(?: [a-z]+)? (?:want|need|"
    r"cho[a-z]+|picked|selected)\b|\bsay(?:ing)? yes to you|\banswer is (?:an? )?(?:[a-z]+ )?yes\b|"
    r"\b(?:please|come and|and) (?:join|work (?:with|for)) us\b|\bcome and be our\b|\byou(?:'ve|"
    r" have) (?:got )?(?:the|this) (?:job|role|part|gig)\b|\bmember of (?:staff|our team|the team)\b|"
    r"\baccept (?:this|our) offer\b|\brecommend(?:ed|ing)? your (?:appointment|hire|selection)\b|\byou(?:'re|"
    r" are) now (?:an?|our|the)\b|\bwelcome (?:aboard|on board|to the (?:team|family|"
    r"company|firm))|\ba (?:[a-z]+ )?yes\b|\bmet with success\b|\bthat(?:'s| is) you\b|\byou did[.!]|"
    r"\bthis is an? (?:[a-z]+ )?(?:acceptance|offer)\b|\bit(?:'s| is| was) you\b|"
    r"\b(?:decided|voted|ruled|went|is|"
    r"'s) in your favou?r\b|\bwith an offer\b|\boffer of (?:appointment|employment)\b|\b(?:as|is) your "
    r"letter of (?:appointment|engagement|acceptance)\b|\bapplication(?: [a-z]+){0,6} (?:is|been|"
    r"was)(?: hereby)? granted\b|\byou(?:'ll| will) be (?:an?|our|the)(?: [a-z-]+){1,6} (?:as of|starting|from)\b|"
    r"\bput(?:ting)? you on the (?:payroll|team|rota|crew|staff|books|squad)\b|\brecommended you for\b|"
    r"\b(?:want|like|love) to work with you\b|\bplease (?:start on|report to)\b|\byour (?:selected|hired)\b|"
    rf"\bsaid yes\b|{FIELD}(?:yes\b|positive|hire\b|hired|offer|[✔✓✅])",
    r"\b(?:tell|inform|notify|let) (?:[a-z]+ ){1,3}that (?:we(?:'re| are|'ve| have)? (?:decided to )?(?:tak|hir|"
    r"appoint)[a-z]* (?:him|her|them)|(?:he|she|they)(?:'s|'ve| has| have| is| are|'re)? (?:been )?(?:got the|hired|"
    r"selected|chosen))\b|\b(?:hire|hiring|taking|appoint) (?:him|her|them)\b[a-z ]*[.!;,] (?:so )?(?:please )?(?:tell|"
    r"let|inform|notify) (?:him|her|them)\b",  # somebody is asked to tell the applicant
    r"\b(?:formal|official|written|job|employment|our|make you an|making you an|make an|extend an|"
    r"extending an)(?: [a-z]+)? offer\b|\boffer letter\b|\b(?:confirm|on|of) your (?:appointment|selection|employment|"
    r"hire|acceptance)\b|\bconfirm your (?:place|position|role|job)\b",
    r"\b(?:you|u)(?:'ve| have|'re| are)?(?: now| just| officially| really)? (?:earned|won|landed|secured|got|get|"
    r"getting) (?:the|an?|this|your)(?: [a-z-]+){0,3} (?:role|position|job|spot|place|"
    r"part)\b",
)
SUPPOSED = any_of(
    r"\bif (?:you(?:'d|'re|'ll)?(?: are| would| can| could| will| still| also| agree)* (?:accept|agree|willing|happy|"
    r"wants?|wish|live with|say yes|have us|game|up for|content)|(?:that|this|it|these|those) (?:suits?|is (?:fine|"
    r"all right|ok|acceptable)|works?|sounds?|appeals?|terms))\b[^.!?;:,\nL]*",  # up to the applicant: an offer
    r"\b(?:giv|provid|send)(?:e|ing) you (?:with )?(?:(?:an?|the|some|our|any|this|more) )?(?:[a-z]+ ){0,2}?(?:update|"
    r"news|feedback|information|details|answer|reply|response|idea|overview|clarity|reasons?|advice|notice)\b",
    r"\b(?:if |should (?:you|we|i|an?|the|any|your|our|this|things)\b|had (?:(?:you|we|i|this)\b|(?:the [a-z]+|it|"
    r"things) (?:been|gone)\b)|were (?:you|it)\b)[^.!?;:\nL]*",
    r"\b(?:love|like|glad|happy) to see you (?:at|there|again|in|on)\b|\brumou?rs? (?:that|says?)\b[^.!?,\n]*|"
    r"\botherwise\b[^.!?\n]*|\bneither\b[^.!?;\n]*\bnor\b[^.!?,;\n]*|\b(?:whether|unless|until|once|as soon as|when|"
    r"before (?:we|i) (?:can|could|make|offer|decide)|(?:nearly|almost) (?:hired|chose|chosen|selected|picked|"
    r"appointed|offered|rejected|turned|gave|went)|(?:'d| would)(?: gladly)? "
    r"(?:hire|take|choose|pick|appoint) you [^.!?\n]*\bif (?:we|i|it|the|there|only)\b|"
    r"had hoped|hope[ds]? to|"
    r"wish (?:we|i)|(?:would|could|might|should|'d) (?:have|say|read|be (?:writing|telling|welcoming|[a-z]+ to say))|"
    r"(?:told|informed) (?:you|them|that)|wr(?:itten|"
    r"ote) (?:to you )?that|w(?:as|ere) (?:going|about) to)\b[^.!?,:;\nL]*|\b(?:will|shall|can|would|should) (?:we|"
    r"i)\b[^.!?\nL]*\?",
    r"\b(?:not (?:only|just|merely|simply)|can(?:'t|not) wait|could(?:n't| not) (?:be (?:more|happier|prouder|better|"
    r"any)|have (?:found|asked|wished|hoped))|do(?: not|n't) hesitate|"
    r"without (?:hesitation|reservation|(?:any |a )?doubt)|not(?: been)?(?: an?)? easy|no longer need|"
    r"or not(?: [a-z]+)?|(?:impossible|hard|difficult|reason|fools?|foolish|crazy|mad|silly|wrong|remiss) not to|"
    r"not (?:regret|giv(?:e|ing) up)|you(?:'re| are)(?: [a-z]+)? welcome to)\b",
)
OPENING = r"(?:positions?|roles?|jobs?|posts?|openings?|vacanc(?:y|ies)|places?|spots?|seats?)"
OF_OTHERS = any_of(
    r"\b(?:he|she|they) (?:did|does|do|was|were|is|are)(?: not|n't)(?: [a-z]+){0,2} (?:meet|have|hold|possess|qualif|"
    r"match|fit|suit)[a-z]*",
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
    r"ing)?|employ(?:ed|ing)?|recruit(?:ed|ing)?|accept(?:ed|ing)?|approved?|award(?:ed|ing)?|promot(?:ed?|ing)|"
    r"engaged?|successful|confirmed|placed)\b"
)
TO_GO_ON = (
    r"\b(?:(?:go(?:es|ing|ne)?|went|forward|ahead|on) with|proceed(?:ed|ing)?|mov(?:e|ed|ing)(?: you)? (?:on|forward|"
    r"ahead|to)|progress(?:ed|ing)?|continu(?:e|ed|ing)|pursu(?:e|ed|ing)|opt(?:ed|ing) for|advanc(?:e|ed|ing)|found|"
    r"prefer(?:red)?|fell on|favou?r of|settled on|search with)\b"
)
ROLE = (
    r"\b(?:role|position|post|jobb?|opening|vacancy|contract|place|spot|seat|employment|fellowship|berth|chair|slot|"
    r"gig|apprenticeship|appointment|assignment|(?:opportunity|chance) to (?:join|work))\b"
)
TO_OFFER = r"\b(?:offer(?:ed|ing)?|extend(?:ed|ing)?|giv(?:e|en|ing)?|gave)\b"
NOT = (
    r"\bnot,?(?: (?:at (?:this|the present|the) (?:time|moment)|currently|presently|now),?)? in a position to\b|"
    r"\b(?:not|never|unable|no longer|cannot|against|declined? to|nobody|no one|(?:ca|wo|do|did|is|are|was|were|"
    r"have|has|had|could|would)nt)\b|n't\b"
)
YOU_ARE = any_of(
    r"\byou(?:'?ve(?: [a-z]+)? been| have(?: [a-z]+)? bee?n|'?re| are| were| had been| will be|'?ll be| got| being)\b",
    rf"\b{APPLICATION}{words(10)} (?:been|was|is|were)\b|\band (?:have|are|were|will)(?: [a-z]+)? be(?:en)?\b|"
    rf"\bthou (?:hast been|art)\b|\bon being\b|\bthe one we(?:'ve| have)?\b|{FIELD}",
)
CONTRAST = (
    r"\b(?:but|because|although|though|while|however|nevertheless|nonetheless|even so|now|today|in the end|after all|"
    r"as it is|fortunately|luckily|since then|in truth|overruled|still|itself|(?:has|have|'ve) (?:since )?changed|"
    r"changed (?:my|our|their) minds?|reconsidered|reversed|overturned|meanwhile|(?:in the )?meantime|this time|"
    r"instead(?:,| [a-z]))\b|\byes,"
)
CORRECTION = any_of(
    r"\bwait[,.!]|\b(?:let me|i'll|i will|i should) (?:re-?(?:do|write|vise|phrase|draft|start)|fix|correct|try again)|"
    r"\b(?:scratch|strike|scrap) that\b|\b(?:need|have|want) to (?:revise|rewrite|redo|correct|fix|start (?:over|again|"
    r"anew))\b|\b(?:start(?:ing)?|beg[iu]n(?:ning)?) (?:over|again|anew|afresh)\b|\b(?:oops|never ?mind|hold on|"
    r"hang on)\b|\b(?:revised|rewritten|amended|updated|final) (?:e-?mail|letter|version|draft|message)\b|\b(?:is|"
    r"are) (?:now )?void\b|\bsupersedes?\b|\b(?:second|another|new) (?:attempt|try)\b|\b(?:by|in|an?|was (?:an? )?|"
    r"the) (?:mistake|error|mix-?up)\b|\b(?:was|were|is|the) wrong\b|"
    r"\b(?:disregard|ignore)\b|\bdelete (?:my|the|our|that) |N  *send\b|\bsend this\b|\b(?:actual|real) (?:e-?mail|"
    r"letter)\b|\bon second thoughts?\b|\bcorrection\b|\bcorrect(?:ed)? (?:version|outcome|email|letter)\b",
)
"""What was said before is void."""
