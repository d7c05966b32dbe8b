"""What others say in an answer, as patterns: speakers in a dialogue, quoted people and passages, and dissent from them.

In these patterns, a space stands for one or more, and " ?" for any number.
"""

from __future__ import annotations

from equipoise.detect.verdicts import any_line

SAY = (
    r"(?:says|said|(?:who|they|people|many|him|her|us|[a-z]+s) say|wr(?:ites?|ote|itten)|argue[sd]?|claim(?:s|ed)?|"
    r"insist(?:s|ed)?|object(?:s|ed)?|"
    r"repl(?:y|ies|ied)|answer(?:s|ed)|thinks|thought|believe[sd]|feels|felt|suggest(?:s|ed)?|tells?|told|"
    r"expect(?:s|ed)?|hope[sd]?|wants?|wanted|demand(?:s|ed)?|ask(?:s|ed)?|shout(?:s|ed)?|voted?|ticked|typed|"
    r"urge[sd]?|"
    r"call(?:s|ed)?|reads?|begins?|began|opens?|goes|went|"
    r"(?:mutter|whisper|murmur|add|explain|declare|exclaim|cry|cried|sigh|snap|laugh)(?:s|d|ed|ped)?)"
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
PASSAGE = r"""(?:\A\s*|[.!?\n]\s*)"[^"\n ]+ [^"\n ]+ [^"\n]*"[\s\u2003,]*(?:that|this|so|such|which|is|was|goes|runs|\
    the|says|my)\b"""
"""A quoted passage that something follows."""
DISAGREE = any_line(r"""
    \b(?:i|we) (?:[a-z]+ly |beg to |must |have to )?(?:disagree|differ|object|think (?:otherwise|differently)|\
        see it differently)\b
    \b(?:i(?:'m| am)|am) not (?:convinced|persuaded|swayed)\b
    \b(?:do|can|does) not (?:share|agree|accept|follow|convince|persuade)\b
    \bthe (?:opposite|other (?:one|way|answer|side))\b
    \b(?:they|he|she|both|all)(?:'re| are|'s| is) (?:wrong|mistaken)\b|\boutvoted\b
    \bside against (?:both|all|them|h[a-z]+|it|that)\b
""")

VOICE = (
    r"(?m:^)[\s0-9.*-]*(?:(?:optimist|pessimist|(?:devil's )?advocate|[a-z]*s[ck]eptic|critic|supporter|opponent|"
    r"manager|hr|juror|reviewer|voice|panell?ist|person|member|lawyer|colleague|boss|friend|angel|devil|head|heart|"
    r"gut)(?: [a-z0-9#]+)?[ )]*:[^\n]*|(?:pros?|cons?|(?:arguments? |reasons? |points? )?(?:for|against)) *:[^.\n]*)"
)
"""A line of a dialogue, or of a list of reasons: not the one who answers speaks."""
