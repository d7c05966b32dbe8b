"""Set phrases that decide a yes-or-no question without its words, as patterns: "no way", "no problem", "loan approved".

They count as sentences of their own: "no way" in "there is no way to tell" is none. In these patterns, a space stands
for one or more, and " ?" for any number.
"""

from __future__ import annotations

from equipoise.detect.verdicts import any_line

_PAIR = r"""\byes["']?,? ?(?:or|and|/) ?["']?no\b[^.\n]*(?:\. )?[^.\n]*\bthe """
FORMER = rf"{_PAIR}(?:former|first)\b"
LATTER = rf'{_PAIR}(?:latter|second)\b|\bthe latter of "?yes"? (?:or|and) "?no\b'
"""Which of the two words it is."""

# What is done with an application. The noun has no verb: "her first application was denied" tells of another one.

_NOUN = (
    r"(?:(?:the|this|your|h(?:is|er)|their) )?(?:(?:[a-z-]+[a-z-]{3}[a-xz]|name|early|entry|policy|surgery|custody|"
    r"warranty|delivery|loan|visa|bail|pass|case|seat|spot|bill|sale|scan|test|card|fee|bid) )+"
    r"(?:(?:is|are|stands) )?(?:hereby )?"
)
_APPROVED = r"(?:approved|granted|accepted|admitted|hired|authori[sz]ed|green-?lit|reinstated|okayed|carried|sustained)"
_DENIED = (
    r"(?:denied|declined|rejected|refused|turned down|disallowed|disapproved|dismissed|withheld|vetoed|overruled|"
    r"not (?:approved|granted|accepted|admitted|authori[sz]ed|hired))"
)
_DETAILS = (
    r" (?:with|without|pending|until|due|effective|because|since|under|on (?:the )?(?:grounds|condition)|"
    r"for (?:now|lack|want))\b"
)


def _own_sentence(phrases: str, done: str) -> str:
    """Phrases as sentences of their own, or what is done with an application."""
    start = r"(?:\A[^a-zA-Z]*|[.!:\n\u2003] ?)"
    to_me = r"(?: (?:at all|whatsoever|here|then|(?:for|to|from) me|(?:from|on) (?:my|our) (?:side|end|part)))?"
    end = r" ?(?:[.,;:!(\n\u2003]|\z)"
    return rf"{start}(?:{any_line(phrases)}{to_me}{end}|{_NOUN}{done}(?:{end}|{_DETAILS}))"


AGREE = any_line(
    r"\b(?:ticket|fine|charge|penalty|citation)s? (?:should|must|ought to) (?:[a-z]+ly )?be (?:dismissed|dropped)\b",
    r"\bi do not see why not\b|\bsee no reason not to ?[.,;!]|\bgreen light to (?:the|this|h[a-z]+|their|them|it)\b",
    _own_sentence(
        r"""
        (?:i(?:'ve| have| see|'d have)?(?: got)? |there(?:'s| is) )?(?:absolutely )?no (?:problem|objections?|worries|\
            issues? with (?:it|this|that)|hesitation|qualms|reservations|reason not to|reason why not|\
            doubt(?: about it)?)(?: (?:with|to|about) (?:it|this|that)(?: one)?)?
        (?:i see |there is )?nothing (?:(?:speaks|stands|argues|is|to say|to be said) )?against (?:it|this|that|\
            h[a-z]+|them)
        you bet(?:cha)?|for sure|sure thing|for certain|without (?:an?y?|the slightest) doubt|by all means
        without (?:question|hesitation)|(?:two )?thumbs up|green light|count me in|welcome aboard|aye|it's a go
        good to go|totally|sign me up|go for it|i(?:'m| am) (?:all )?for it
        """,
        _APPROVED,
    ),
)
"""A yes."""
DISAGREE_TO = _own_sentence(
    r"""
    (?:(?:sorry|thanks|thank you|i'm afraid),? (?:but )?)?no+ (?:way|chance|dice|deal|can do|go|thanks|thank you|sir|\
        ma'am)
    (?:(?:it|that)(?:'s| is) )?(?:an? )?(?:hard pass|hell no|heck no|(?:two )?thumbs down|red light|non-starter|veto|\
        out of the question|nay)
    no exceptions|under no circumstances|by no means|in no way|on no account|over my dead body|count me out|forget it
    better luck next time|(?:please )?(?:come back|try again|re-?apply|see you)(?: again)? next [a-z]+
    i(?:'m| am) (?:opposed|out)(?: to (?:it|this|that))?
    not (?:in a million years|a chance|on my watch|happening|(?:going to|gonna) happen|a good idea|advisable|\
        recommended|this (?:year|time|round|season)|today|here|for me|from me|eligible|worth (?:it|the risk))
    """,
    _DENIED,
)
"""A no."""
