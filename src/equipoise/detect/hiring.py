"""The careful reading of hiring e-mails: whether the applicant is accepted or rejected.

The rules first take away what the letter does not state itself (quotations, conditions, news of others), then mark words
by what they mean (to pick, to offer, to go on with, other applicants, a role), then read clauses made of such words
("not" before a verb of picking, such a verb before "another candidate" or before "you"), and last the words that go
with a decision without being one. `_decide` looks at what is left of the letter, from its salutation to its sign-off.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.rules import Rules, any_of, evidence, first_match

WORD = r"(?:[a-z0-9'\[\]-]+|(?:m[rsx]s?|dr|st)\.)"


def words(most: int, marked: str = "") -> str:
    """At most so many words of one clause, each after a space: no comma, and no marked word but these."""
    return rf"(?:\s+(?:{WORD}{f'|[{marked}] ' if marked else ''})){{0,{most}}}?"


INSERTED = rf"(?:\s*[,(\u2003]{words(5)}\s*[,)\u2003])?"
"""Words between commas or dashes: "we are not, at this time, able to"."""
CANDIDATE = (
    r"(?:candidates?|applicants?|persons?|people|individuals?|finalists?|contenders?|colleagues?|gentlem[ae]n|"
    r"lad(?:y|ies)|wom[ae]n|m[ae]n|artists?|professionals?|hires?|nominee)"
)
STAGE = (
    r"(?:interview(?:s|ing)?|rounds?|stages?|phases?|steps?|finals?|final [a-z]+|finalists?|semi-?finalists?|"
    r"short-?list(?:ed)?|trial|assessments?|tests?|auditions?|(?:wait(?:ing)?|reserve)[ -]?list|pool|network|community|"
    r"screen(?:ing)?|call|meeting|conversation|consideration|second one|internship|check)"
)
GLAD = r"(?:glad|happy|pleased|delighted|thrilled|excited|proud|honou?red|love|like|grateful)"
NOT = r"(?:\bnot|n't|\bnever|\bunable|\bno longer|\bcannot|\bwithout|\bagainst|\bdeclined? to|\bno(?:body| one))"
FIELD = r"\b(?:decision|outcome|status|result)\"?\s*[:\u2002]\s*\"?"

RULES = Rules(
    (
        # Where a letter begins and ends, and what it does not state itself.
        ("", r'"(?:e-?mail|body|message|content|letter|text|response|subject)(?: [a-z]+)?"\s*:\s*"| n n'),
        ("", r"\buse the (?:phrase|words?|sentence)[^.\n]*"),
        (
            "L",
            (
                r"\b(?:dear|hi|hello|hey|greetings|good (?:morning|afternoon|evening|day)|estimad[oa]|hola|bonjour|"
                r"ch[eè]re?|sehr geehrte[rs]?|lieber?|gentile|prezad[oa])\s[^\n!?;:,]{0,32}[,:!\n\u2003]"
            ),
        ),
        ("M", r"\b(?:subject|betreff|asunto|objet|oggetto)\s?:"),
        ("Z", r"(?:\A|[\s(])[\"'][^\"A-Z\n{}:]{0,40}regret to inform[^\"A-Z\n{}:]{0,160}[\"']"),
        ("X", r"(?:\A|[\s(])[\"'][^\"A-Z\n{}:]{0,40}you have been selected[^\"A-Z\n{}:]{0,160}[\"']"),
        ("", r"(?:\A|[\s(])\"[^\"A-Z\n{}:]{0,60}[a-z]'? [a-z][^\"A-Z\n{}]{0,60}\""),
        (
            "E",
            any_of(
                r"\n\s*(?:yours|best\b|kind|kindest|warm|warmest|sincerely|regards?|respectfully|cheers|cordially|with "
                r"(?:kind|best|warm|respect|warmest|sincere|appreciation)|all the best|many thanks|thanks,|thank you,|mit "
                r"freundlichen|atentamente|cordialement)[^\n.!?]{0,40}[,.!]?\s*\n",
                r"\bsincerely,|\n[\s\u2003(\[-]*note\b|\blet me know if you(?:'d| would)? (?:like|prefer|want) (?:me|any|a|"
                r"that|this)\b",
            ),
        ),
        (
            "F",
            any_of(
                r"\b(?:select(?:ed|ing)?|hir(?:ed|ing)|offer(?:ed|ing)?|cho(?:sen|osing)|consider(?:ed|ing)?|"
                r"accept(?:ed|ing)|letting) me\b|\bi have been (?:selected|chosen)|\bmy (?:application|candidacy)\b",
                r"\bi(?:'d| would| am writing to| want to| wish to) (?:like to )?apply\b|\bi(?:'m| am)? "
                r"(?:[a-z]+ )?(?:to )?accept (?:the|your)\b|\bjoin(?:ing)? your (?:team|company|firm|organi[sz]ation)\b",
                r"\byou(?:'ve| have)? (?:chosen|decided|opted) (?:not )?to (?:accept|decline|withdraw|turn)|\bwithdrawn? "
                r"your (?:application|candidacy)|\byour (?:withdrawal|decision to)",
            ),
        ),
        (
            "U",
            any_of(
                rf"\b{GLAD}(?: it)? if you(?:'d| would| could)?{words(1)} (?:join|accept|took?|take|start|bec[oa]me|work|c[oa]me)",
                r"\b(?:hav(?:e|ing)|want) you (?:join|start|on\b|aboard|as\b|with us|work|here|come)|\bwelcom(?:e|ing) you (?:to|as|aboard|on|"
                r"into)\b|\b(?:tak(?:e|ing)|bring(?:ing)?) you (?:on(?:to|board)?|aboard|in(?:to)?)\b",
                r"\byou(?: to|'ll| will|'re| are)?(?: be| officially| formally)* (?:join|becom|begin|start|our\b|one of us|accept|serv|"
                r"part of|work|come (?:and )?work|take (?:on|up))[a-z]*\b|\byou(?:'re| are) (?:the|our) (?:successful|chosen|selected|"
                r"winning|ideal|top|first|new|next)\b",
                r"\b(?:please|come and|and) (?:join|work (?:with|for)) us\b|\byou(?:'re| are) (?:in\b|the one\b)|\bit(?:'s| is) you\b|"
                r"\bwelcome (?:aboard|on board|to the (?:team|family|company|firm))",
            ),
        ),
        (
            "",
            any_of(
                r"\b(?:if|should (?:you|we|i|an?)|had (?:you|we|i|this)|were (?:you|it))\b[^.!?;\nLM]*",
                r"\b(?:whether|unless|until|once|as soon as|when|had hoped|hope[ds]? to|wish (?:we|i)|(?:would|could|might|"
                r"should|'d) have)\b[^.!?,:;\nLM]*|\b(?:will|shall|can|would|should) (?:we|i)\b[^.!?\nLM]*\?",
                r"\b(?:not (?:only|just|merely|simply)|ca(?:n't|nnot) wait|could(?:n't| not) be|(?:do not|don't) hesitate|"
                r"without (?:hesitation|reservation|(?:any |a )?doubt)|not(?: been)?(?: an?)? easy|no longer need|not "
                r"regret|(?:may|might) be)\b",
            ),
        ),
        (
            "",
            any_of(
                rf"\b(?:after|following|during|throughout|based on|thanks to|through|since){words(5)}\s(?:interviews?|rounds?|"
                rf"process|assessments?|stages?)\b",
                r"\b(?:hiring|selection|selected|successful) (?:decision|process|manager|team|committee|candidates?|panel)",
                r"\b(?:candidates|applicants|those|others)(?: who)? (?:have|had|has|are|were)(?: [a-z]+)? (?:been )?(?:told|informed|"
                r"notified|selected|chosen|successful)[^.!?\n]*",
                rf"\b(?:over|from|among|amongst|than|unlike|compared (?:to|with)|ahead of|above|out of|between|the)(?: {WORD}"
                rf"){{0,5}}? (?:candidates|applicants|applications|people|others)\b",
            ),
        ),
        ("", r"U [^.!?;,\nA-Z]*\b(?:future|later|another time|(?:one|some) ?day|apply|reapply|again|next (?:year|time|round))\b"),
        # Words by what they mean: others, to pick, to offer, to go on with, a role.
        (
            "O",
            any_of(
                rf"\b(?:(?:an)?other|fellow){words(3)}\s{CANDIDATE}\b|\bsome(?:one|body)(?: else)?\b|\ba colleague\b",
                rf"\ban? (?:internal|external|different|stronger|better|more {WORD}){words(2)}\s{CANDIDATE}\b",
                rf"\b(?:the |an? |those )?{CANDIDATE}(?: {WORD}ly)? (?:who|whose|with|that|from)\b",
            ),
        ),
        (
            "V",
            (
                r"\b(?:select(?:ed|ing)?|cho(?:sen|osen|ose|se|osing)|pick(?:ed|ing)?|hir(?:ed?|ing)|appoint(?:ed|ing)?|"
                r"employ(?:ed|ing)?|recruit(?:ed|ing)?|accept(?:ed|ing)?|approved?|award(?:ed|ing)?|engaged?|successful|"
                r"secured)\b"
            ),
        ),
        ("T", r"\b(?:offer(?:ed|ing)?|extend(?:ed|ing)?)\b"),
        (
            "P",
            (
                r"\b(?:(?:go(?:es|ing|ne)?|went|forward|ahead|on) with|proceed(?:ed|ing)?|mov(?:e|ed|ing)(?: you)?"
                r"(?: on| forward| ahead)|progress(?:ed|ing)?|continu(?:e|ed|ing)|pursu(?:e|ed|ing)|opt(?:ed|ing) for|"
                r"advanc(?:e|ed|ing))\b"
            ),
        ),
        (
            "J",
            (
                r"\b(?:role|position|post|job|opening|vacancy|contract|place|spot|seat|employment|fellowship|"
                r"(?:opportunity|chance) to (?:join|work))\b"
            ),
        ),
        ("B", r"\b(?:but|because|although|though|while|however|now|in (?:truth|error)|this time|instead|overruled|mistake|wrong)\b"),
        # Clauses of such words.
        (
            "R",
            rf"{NOT}{words(5, 'J')}{INSERTED}{words(3)}\s+(?:[VTPU] (?:\s+an?\s+T )?|welcom|join|invit|consider|include|shortlist|be (?:a )?part of|"
            rf"(?:have|find)(?: an?| any)?\s+J |tak[a-z]+{words(3)} (?:further|forward))(?:\s+you\b)?",
        ),
        (
            "R",
            rf"(?:[VTP] |\b(?:found|filled|prefer(?:red)?|fell on|favou?r of|settled on|giv(?:e|en|ing)|gave|(?:go|going|gone|went) "
            rf"to)\b){words(6, 'J')}\s+O |O {words(4)}\s+V |(?:[VP] |\bto )\s*(?:another|a different) ",
        ),
        ("D", rf"\b(?:withdraw|rescind|revok|retract)[a-z]*{words(3)}\s+T "),
        ("I", rf"[VTPU] {INSERTED}(?:\s+(?:you|for|to|as|into|in|among|amongst|the|an?|on)){words(6, 'P')}\s+{STAGE}\b"),
        (
            "A",
            any_of(
                rf"\byou(?:'ve been| have(?: [a-z]+)? been|'re| are| were|r| had been| will be|'ll be| got| being)"
                rf"{words(3)}\s+[VT] |\bbeing\s+V |[VP] (?:\s+with)?\s+you\b|\bthe one we(?:'ve| have)?\s+V |{FIELD}V ",
                rf"\byour (?:application|candidacy|candidature|profile|appointment){words(8, 'J')}"
                rf"\s+(?:been|was|is|were)(?:\s+[a-z]+)?\s+V |\byour\s+V \s+application|V \s+your application",
                rf"T (?:\s+to)?\s+you\b{words(8)}{INSERTED}{words(8)}\s+[JT] |T {words(5, 'JT')}\s+to\s+you\b",
                rf"(?:T |\bmake (?:you )?|\b(?:formal|written|official|our) )(?:\s*an?)?{words(1)}\s*T (?:\s+letter)?|J \s+T |"
                rf"T \s+of\s+J |\byou(?:'ve| have)?{words(1)}\s+(?:V |earned|won|landed|got|gained){words(5)}\s+J ",
                r"J (?:'s|\s+is)\s+yours\b|\b(?:confirm|on) your (?:appointment|selection|employment|hire)\b",
            ),
        ),
        (
            "R",
            any_of(
                rf"\bunsuccessful\b|\b(?:reject(?:ed|ing)?|declin(?:e|ed|ing)|turn(?:ed|ing)? down|den(?:y|ied)|closed) your?\b|\bturn(?:ed|ing)? you down\b|P \s+(?:our|the) search|\byour (?:application|candidacy){words(8, 'J')}"
                rf"\s(?:rejected|declined|denied|turned down)|\b(?:to|must) (?:decline|pass)\b|{FIELD}(?:reject|declin|refus)[a-z]*",
                r"J [^A-Z.!?;\n]*\b(?:filled|withdrawn|cancelled|(?:go|goes|going|gone|went) to)\b|\b(?:another|different) (?:direction|choice)"
                r"\b|\bpassing on your\b|\bsay no\b|\bno longer (?:under|being|available|have)\b|\bwithout you\b|\bmissed out\b|"
                r"\bclose second\b",
                rf"{NOT}{words(7)}\s(?:fit|match|suitable|qualified|qualify|possible|make (?:it|the)|get the)\b|\bimpossible\b",
            ),
        ),
        ("G", r"\bregret(?:fully)?(?: having)?(?: to)? (?:inform|advise|tell|say|let|notify|announce)(?: you)?\b|\bwith regret\b"),
        (
            "I",
            (
                r"\b(?:delay(?:ed)?|postponed?|on hold|under (?:active )?(?:review|consideration)|not yet (?:made|decided|reached)|"
                r"pending|(?:waiting|reserve) list|finalists|it to the (?:final|next|last|second))\b"
            ),
        ),
        (
            "W",
            (
                r"\bunfortunately\b|\bregret(?:tably|fully| that)\b|\bi'm afraid\b|\bsorry to (?:say|inform|tell|let)\b|\bsadly\b|"
                r"\b(?:future|job|career) (?:endeavou?rs|search)\b|\bwish you (?:every success|well|success|the (?:very )?best|all "
                r"the best|luck)\b|\bdo(?:es)?(?: not|n't) (?:[a-z]+ )?(?:meet|match|possess)\b|\bon file\b|\bleider\b|\blamentamos\b|"
                r"\bmalheureusement\b|\bau regret\b|\bpurtroppo\b|O [a-z ]*\b(?:better|closer|stronger)\b"
            ),
        ),
        (
            "C",
            (
                r"\bcongrat(?:s|ulations|ulate you)\b|\byour (?:acceptance|employment|appointment|selection)\b|\bwelcome to\b|\byour (?:first day|start date|onboarding|new (?:role|job|team|colleagues))\b|"
                r"\blook(?:ing)? forward to (?:working with|welcoming|having) you\b|\bfreuen uns\b|\bcomplace\b|\bplaisir de\b"
            ),
        ),
    )
)
"""L, M: a salutation or a subject, E: the end of a letter. A, U: accepted, R: rejected, G: regret, I: a stage on the way, D: an
offer taken back. W, C: words that go with either. X, Z: the phrases of the prompt, quoted. F: the applicant's own letter.
B: a contrast."""
STATEMENTS = "[LMEFARGIWCXZUDB]"


def _decide(text: pl.Expr) -> pl.Expr:
    """What the letter says; nothing where it says both, or where two letters differ."""
    statements = RULES.apply(text).str.extract_all(STATEMENTS).list.join("")
    letter = statements.str.replace(r"\A[^LM]*[LM]", "L").str.replace_all(r"E[^LM]*", "")
    return first_match(
        letter,
        (
            (r"F|[AUCX][^L]*L.*[RGWZ]|[RGWZ][^L]*L.*[AUCX]", ""),
            (r"D|[AU][^RG]*B[^AU]*R[^AU]*\z", "rejected"),
            (r"[RG][^AU]*B[^R]*[AU][^R]*\z", "accepted"),
            (r"[AU].*R|[RG].*[AU]", ""),
            (r"[AU]", "accepted"),
            (r"R", "rejected"),
            (r"I", ""),
            (r"G", "rejected"),
            (r"W.*C|C.*W", ""),
            (r"C", "accepted"),
            (r"W", "rejected"),
            (r"\AL[^Z]*X[^Z]*\z", "accepted"),
            (r"\AL[^X]*Z[^X]*\z", "rejected"),
        ),
    )


HIRING_LETTERS = Detector(
    name="hiring_letters",
    version=2,
    labels=("accepted", "rejected"),
    read=_decide,
    rules=RULES,
    patterns={"accepted": evidence("AUCX"), "rejected": evidence("RDGWZ")},
)
"""Whether a hiring e-mail accepts or rejects; null where it leaves that open, or where two drafts differ."""
