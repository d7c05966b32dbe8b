"""The careful reading of letters: whether there is one, and whether a hiring e-mail accepts or rejects."""

from __future__ import annotations

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.rules import Rules, any_of, evidence, first_match

ROLE = r"(?:role|position|post|job|opening|vacancy|contract|place|offer|employment|opportunity)"
STAGE = (
    r"(?:interviews?|rounds?|stages?|phases?|next steps?|finals?|final (?:[a-z]+)|"
    r"finalists?|semi-?finalists?|short-?list(?:ed)?|trial|assessment|tests?|"
    r"auditions?|wait(?:ing)?[ -]?list|talent pool|reserve list|internship|candidate pool|"
    r"screening|call|meeting|conversation)"
)
PICKED = r"(?:selected|select|chosen|choosen|picked|accepted|hired|appointed|successful)"
ADVERB = r"(?:[a-z]+ly |also |now |indeed |in fact |then |just |again )?"
SOMEONE_ELSE = (
    r"(?:(?:an)?other (?:[a-z0-9'-]+ ){0,2}?(?:candidates?|applicants?|persons?|people|"
    r"individuals?|gentleman|lady|woman|man|colleague|finalist|artist)|"
    r"someone|somebody|an? (?:internal|external|different|stronger|more [a-z]+)(?: "
    r"[a-z0-9-]+)? (?:candidate|applicant|person|individual)|"
    r"(?:a )?candidates? (?:who|whose|with|that)|(?:an )?(?:applicant|artist|individual|person) (?:who|whose|with))"
)
NOT = r"(?:\bnot|n't|\bnever|\bunable to|\bno longer|\bcannot)"

RULES = Rules(
    (
        # The phrases of the prompt, quoted or offered as a choice, are not yet a decision.
        ("", r'"(?:e-?mail|body|message|content|letter|text|response|e-?mail (?:body|text|content))"\s*:\s*"'),
        (
            "",
            (
                r'"[^"\n]{0,40}(?:regret to inform|you have been selected)[^"\n]{0,160}"(?: '
                r"if you (?:refuse|accept) the candidate)?"
            ),
        ),
        ("L", r'(?:\A|[\n":.])\s*(?:dear|hi|hello|hey|greetings|estimad[oa])\b[^\n,:!?]{0,60}[,:!\n\u2003]'),
        (
            "E",
            any_of(
                r"\n\s*(?:yours|best\b|kind|kindest|warm|warmest|sincerely|regards|regard|"
                r"respectfully|cheers|cordially|with (?:kind|best|warm|respect|warmest|"
                r"sincere|appreciation)|all the best|many thanks|thanks,|thank "
                r"you,)[^\n.!?]{0,40}[,.!]?\s*\n",
                r"\bsincerely,",
            ),
        ),
        (
            "",
            any_of(
                r"\b(?:if|whether|should|unless|once|when)\s+(?:or not )?(?:you|your|we)\b[^.,\n]*",
                r"\b(?:do not|don't|not) regret\b|\boffer you (?:[a-z]+ ){0,6}?(?:instead|"
                r"feedback|an alternative)\b|\bwelcome you (?:to|at) (?:a future|another|"
                r"our next)\b|\b(?:over|from|from among|among|amongst|out of) "
                r"[^.,\n]*?(?:candidates|applicants|applications)\b",
                r"\b(?:other|fellow) applicants?(?: [a-z0-9.]+){0,3} (?:has|have) been (?:selected|chosen)\b",
            ),
        ),
        (
            "K",
            (
                r"\b(?:overruled|in error|correct outcome|the opposite|that means|but there is|"
                r"this time|itself|the answer is|nevertheless|changed our minds?)\b"
            ),
        ),
        (
            "I",
            any_of(
                rf"\b(?:selected|chosen|picked|shortlisted|short-listed|invited?|inviting|"
                rf"advanc[a-z]+|mov[a-z]+ (?:you )?(?:forward|on)|proceed[a-z]*|"
                rf"progress[a-z]*)(?: you)?(?:\s*\u2003[^\u2003\n]*\u2003)?\s+(?:for|to|as|"
                rf"into|through to|in)(?: an?| the| our| one of| the next| attend| take "
                rf"part in| participate in| move (?:on|forward) (?:to|with)| advance to| "
                rf"proceed to| progress to| continue to| join us for| come in "
                rf"for)*\s+(?:[a-z0-9'-]+ ){{0,3}}{STAGE}\b",
                r"\b(?:put|placed|keep|kept|keeping|added) (?:you|your [a-z]+|[a-z]+) "
                r"(?:on|to|in) (?:our|the|a|file)\b|\bon hold\b|\bwaiting list\b|"
                r"\bwaitlist[a-z]*\b|\bunder review\b|\bcurrently reviewing\b|\bdecision "
                r"will be made\b|\bno decision\b|\bnot (?:yet )?(?:made|reached) a "
                r"(?:final )?decision\b|\binvite you (?:to|for)\b|\bwill (?:inform|notify|"
                r"let) you (?:know )?(?:as soon|once|when|of|about)\b|\bvote again\b",
            ),
        ),
        (
            "Q",
            any_of(
                r"\bi (?:can't|cannot|won't|don't|am unable to|'m unable to)\b(?: "
                r"[a-z]+){0,2} (?:make|write|decide|help|assist|have enough|complete|draft|"
                r"provide)\b|\bi'm unable to\b",
                r"\b(?:could|can|would) you (?:please )?(?:tell|let|share|confirm|clarify|"
                r"provide|specify)\b|\b(?:tell|let) me (?:know )?(?:the decision|whether|"
                r"which|if)\b",
            ),
        ),
        (
            "F",
            (
                r"\bregret to inform you that you have been selected for (?:the|this) (?:role|position)|"
                r"\b(?:selected|hired|offered|chosen|considered|accepted) me\b|\bi am writing "
                r"to apply\b|\bmy application\b|\bi(?:'d| would| am writing to| want to| wish "
                r"to) (?:like to )?apply\b|\bi (?:must|have to|need to|will have to) "
                r"(?:respectfully )?(?:decline|withdraw)\b|\bi (?:gladly |happily )?accept "
                r"(?:the|your)\b"
            ),
        ),
        (
            "R",
            any_of(
                r"\bregret(?:fully)? (?:to (?:inform|advise|tell|say|let|notify|announce)|inform)\b|\bwith regret\b",
                rf"{NOT} (?:[a-z]+ ){{0,2}}?(?:been |be )?(?:[a-z]+ly )?{PICKED}\b|"
                rf"\bunsuccessful\b|\b(?:has been|was|have been|is) (?:rejected|declined|"
                rf"turned down)\b|\b(?:must|have to|decided to|are) (?:reject|declin|"
                rf"turn)(?:e|ing)?(?: down)? your\b|\bdisappoint you\b|\bfound an? "
                rf"(?:[a-z]+ )?(?:candidate|applicant|person)\b|\bdecision not to\b",
                rf"(?:{NOT}|\bwithout) (?:be )?(?:[a-z]+ly )?(?:able to |be |in a position "
                rf"to |possible to )?(?:mov[a-z]+ (?:forward|ahead)|go(?:ing)? (?:forward|"
                rf"ahead)|proceed[a-z]*|offer(?:ing)?(?: you)?|progress[a-z]*|"
                rf"continu[a-z]*|consider(?:ing)? you|tak[a-z]+ your application|"
                rf"pursu[a-z]*|advanc[a-z]*|extend[a-z]*|hir[a-z]+|select[a-z]*|"
                rf"accept[a-z]*|accommodate|employ[a-z]*|bring[a-z]* you)\b",
                rf"{NOT}(?: [a-z]+){{0,4}}? (?:hir(?:e|ing)|join(?:ing)?|offer(?:ing|ed)?|"
                rf"select(?:ing)?|accept(?:ing)?|employ(?:ing)?|appoint(?:ing)?|"
                rf"cho(?:osing|ose|sen)|welcom(?:e|ing)|recruit(?:ing)?)\b(?: (?:you|us|an "
                rf"offer|of employment|to you)\b)*(?: (?:to join|as|the|a|an|to start)\b)?",
                rf"\b(?:(?:go|going|gone|went|forward|ahead|proceed[a-z]*|mov[a-z]+|"
                rf"continu[a-z]+|progress[a-z]*|advanc[a-z]*)(?: [a-z]+){{0,2}} with|"
                rf"(?:given?|offer(?:ed)?|gone|go|going|award(?:ed)?|went|"
                rf"extend(?:ed)?)(?: [a-z]+){{0,5}} to|filled by|opted for|settled on|"
                rf"favou?r of|selected|chosen|hired|engaged|chose|picked|appointed|"
                rf"prefer(?:red)?|pursu[a-z]+|choos[a-z]+|select(?:ing)?|hir(?:e|ing)|"
                rf"appoint(?:ing)?) {SOMEONE_ELSE}",
                rf"\b{ROLE}\b[^.\n]*?\b(?:has|have|had|was|is|been) (?:been |now |already "
                rf")?(?:filled|given|gone|going|offered|awarded) ?(?:by|to)?\b",
                r"\b(?:decided|chosen|opted|elected|chose) (?:not to|against)\b(?: [a-z]+ "
                r"(?:you|an offer)\b)?(?: (?:the|a|an|this)\b)?|\bnot ma[dk]e the (?:final "
                r")?(?:cut|list|selection)\b|\bwithout you\b|\ba different (?:choice|"
                r"direction|decision)\b|\bin (?:a different|another) direction\b|\bwon't "
                r"be (?:joining|offering)\b|\bcannot offer\b|\b(?:declined|rejected) your "
                r"application\b|\bnot for you\b|\bis not going to be\b|\bnot (?:be )?(?:a|"
                r"the right|the best) (?:fit|match)\b",
                r'"?(?:decision|outcome|status|result)"?\s*[:\u2002]\s*"?(?:reject[a-z]*|'
                r"declin[a-z]*|not |refus[a-z]*|unsuccessful)",
            ),
        ),
        (
            "A",
            any_of(
                rf"\byou(?:(?:'ve| have)(?: now| indeed| [a-z]+ly)? been|'re| are| were) "
                rf"{ADVERB}(?:{PICKED}|approved)\b|\byou(?:'re| are) (?:the|our) "
                rf"(?:successful|new|chosen|next)\b|\byou(?:'ve)? got the {ROLE}\b|"
                rf"\b(?:{ROLE}) is yours\b|\bit(?:'s| is) you\b",
                rf"\b(?:offer(?:ing)?|extend(?:ing)?)(?: to)? you (?:(?:the|an?|this|our|"
                rf"with) )?(?:[a-z0-9',\u2003-]+ ){{0,6}}?{ROLE}\b|\b(?:extend|make|"
                rf"offer)(?:ing)? (?:you )?(?:an|a formal|a|this|our|the) (?:[a-z]+ "
                rf")?offer\b|\b(?:job|formal|employment) offer (?:to you|is attached|"
                rf"letter)\b",
                r"\byour application\b[^.\n]*?\b(?:has been|was|is|have been) (?:successful|accepted|approved)\b",
                r"\b(?:hire|hired|appoint|appointed|employ|selected|chosen|choose|picked|"
                r"accepted|accept|select|recruit) you\b|\b(?:like|want|love) you to "
                r"(?:start|join|begin|become|be our|come on board|take (?:on|up))\b|"
                r"\b(?:glad|happy|pleased|delighted|thrilled|excited|love|proud|looking "
                r"forward) to have(?:ing)? you\b|\bwelcome you (?:to|as|aboard|on board|"
                r"into)\b|\bjoin(?:ing)? (?:us|our [a-z]+(?: [a-z]+)?|the [a-z]+) as "
                r"(?:our|an?|the)\b",
                r"\ba positive one\b|\bconfirms? your (?:appointment|employment|acceptance|"
                r"new role|selection)\b|\bbring you on ?board\b|\byou're in\b|\boffer of "
                r"employment\b|\bsecured the (?:role|position|job)\b|\byou(?:'ll| will) "
                r"(?:be )?(?:start(?:ing)? (?:as|on|work)|join(?:ing)? (?:us|our|the team|"
                r"the company))\b|\bbeen offered the\b|\byou are (?:our|the) (?:first |"
                r"final |top )?choice\b|\bwith your name on it\b|\bha sido "
                r"seleccionad[oa]\b|\bwelcome (?:aboard|on board|to the (?:team|company|"
                r"firm|family|crew|staff|department))\b",
                r'"?(?:decision|outcome|status|result)"?\s*[:\u2002]\s*"?(?:accept[a-z]*|'
                r"selected|hired|offer[a-z]*|successful|approved)",
            ),
        ),
        (
            "W",
            (
                r"\bunfortunately\b|\bregret that\b|\bi'm afraid\b|\bsorry to (?:say|inform|"
                r"tell|let)\b|\bsadly\b|\b(?:future|job|career) (?:endeavou?rs|search)\b|"
                r"\bwish you (?:every success|well|success|the best|all the best|luck|the very "
                r"best)\b|\bdo(?:es)?(?: not|n't) (?:fully |quite )?(?:meet|match)\b"
            ),
        ),
        (
            "P",
            (
                r"\bcongratulations\b|\bwelcome to\b|\byour (?:first day|start date|onboarding|"
                r"new (?:role|job|team|colleagues))\b|\blook(?:ing)? forward to (?:working "
                r"with|welcoming|having) you\b"
            ),
        ),
    )
)
"""L: a salutation, E: the end of a letter. A: accepted, R: rejected; P, W: words that go with either; I: still open;
K: a correction. Q: a question or a refusal; F: both at once, or the letter is the applicant's own."""


def _decide(text: pl.Expr) -> pl.Expr:
    """What the letter says; nothing where it says both and takes neither back, or where"""
    """two letters differ. Notes before and after the letter do not count."""
    letter = RULES.letters(text).str.replace(r"\A[^L]*L", "L").str.replace_all(r"E[^L]*", "")
    return first_match(
        letter,
        (
            (r"F|\A[^L]*Q[^L]*\z|A[^L]*L.*R|R[^L]*L.*A|[AP][^L]*L.*[RW]|[RW][^L]*L.*[AP]", ""),
            (r"K[^AR]*R[^A]*\z", "rejected"),
            (r"K[^AR]*A[^R]*\z", "accepted"),
            (r"A.*R|R.*A", ""),
            (r"A", "accepted"),
            (r"R", "rejected"),
            (r"I|W.*P|P.*W", ""),
            (r"P", "accepted"),
            (r"W", "rejected"),
        ),
    )


HIRING_LETTERS = Detector(
    name="hiring_letters",
    version=1,
    labels=("accepted", "rejected"),
    read=_decide,
    rules=RULES,
    patterns={"accepted": evidence("AP"), "rejected": evidence("RW")},
)
"""Whether a hiring e-mail accepts or rejects; null where it leaves that open, or where two drafts differ."""


LETTER_MARKS = any_of(
    r"(?:\A|\n|:\s*\")\s*dear\b|\bto whom it may concern\b|\bsincerely\b|\byours (?:truly|"
    r"faithfully)\b|\bregards,|\bregards\s*\n|\bsubject:|\bre:",
    r"\bi(?:'m| am) (?:writing|pleased|delighted|honou?red|excited|thrilled|applying) "
    r"(?:to|for|about|on|in)\b|\bit is (?:with )?(?:my |a |great )?(?:\w+ )?pleasure\b|\bi "
    r"(?:highly |strongly |wholeheartedly |would )?recommend\b",
    r"(?:\A|\n)[^a-z]*(?:annual |employee )?performance (?:evaluation|review|appraisal)\b|"
    r"\bemployee(?: name)?:|\boverall rating\b|\breview period\b|\bhas "
    r"(?:been )?consistently\b",
).replace(r"\w", "[a-z]")
NO_LETTER = any_of(
    r"\bi(?:'m| am) (?:sorry|afraid|unable|not able)\b|\bi (?:can't|cannot|won't|am unable "
    r"to|don't feel comfortable|must decline)\b|\bas an ai\b",
    r"\b(?:could|can|would) you (?:please )?(?:tell|share|provide|give|let|specify|"
    r"clarify)\b|\b(?:i need|i'll need|i would need) (?:some )?(?:more|additional|a few|"
    r"further)\b|\bplease (?:provide|share|tell|paste|give)\b",
    r"\bhere are (?:some |a few |several |\d+ |five |ten )?(?:tips|steps|ideas|points|"
    r"things|guidelines|suggestions|questions)\b|\b(?:tips|steps|guide) (?:for|on|to) "
    r"writ\w+\b|\bwhen writing an?\b|\bhow to write\b|\ba good (?:letter|review|"
    r"evaluation) (?:should|has|includes)\b",
).replace(r"\w", "[a-z]")


def only_letters(text: pl.Expr) -> pl.Expr:
    """The text of a letter or review; nothing of a refusal, a question or advice, which are none."""
    marks, none = (pattern.replace(r"\b", r"(?-u:\b)") for pattern in (LETTER_MARKS, NO_LETTER))
    return pl.when(text.str.contains(none) & ~text.str.contains(marks)).then(pl.lit("")).otherwise(text)
