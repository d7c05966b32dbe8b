"""The careful reading of hiring e-mails: whether the applicant is accepted or rejected, if that is plainly said.

Statements of one side decide. An e-mail with both, such as two drafts to choose from, decides nothing.
"""

from __future__ import annotations

from equipoise.detect.detector import Detector
from equipoise.detect.evidence import Evidence, any_line, join_patterns, read_evidence

NOT = r"(?:\bnot|n't|\bcannot) (?:be(?:en)? )?(?:\w+ly )?"
GLAD = r"\b(?:pleased|delighted|happy|excited|thrilled|glad|pleasure) to (?:\w+ly )?"
JOB = r"(?:[^\s.!?]+ ){0,5}?(?:position|role|job|post|offer|employment)\b"
SOMEBODY_ELSE = (
    r"(?:(?:another|different|other) (?:\w+ )?(?:candidate|applicant|individual|person|finalist)|someone else)\b"
)
APPLICATION_IS = r"\byour application[^.\n]{0,60} (?:has been|was|is)"
NOT_THE_JOB = any_line(r"""
    \b(?:whether|if|once) you(?:'ve| have| are| were)(?: been)? (?:selected|chosen)\b
    \b(?:selected|chosen) (?:for|to|as) (?:[^\s.!?]+ ){0,5}?(?:interview|round|stage|shortlist|final|finalist|runner)
    \b(?:selected|chosen) as one of\b
""")
STATEMENTS = Evidence(
    {
        "accepted": any_line(rf"""
            you(?:'ve been| have been|'re| are)(?: \w+ly| hereby)? (?:selected|chosen|hired|appointed)\b
            {GLAD}(?:(?:hire|appoint|welcome) you\b|extend {JOB}|have you (?:join|on board))
            (?:{GLAD}offer|\b(?:decided|like) to offer|\b(?:are|am) offering) you {JOB}
            \b(?:begin|start) (?:the|your|our) onboarding\b|\bwelcome (?:aboard|to the (?:team|crew))\b
            {APPLICATION_IS} (?:accepted|successful)\b
        """),
        "rejected": any_line(rf"""
            \b(?:regret|sorry) to (?:inform|say|tell|advise|let|notify|share)\b|\bregret that\b|\b{SOMEBODY_ELSE}
            \b(?:forward|ahead|go|proceed) (?:with (?:a|the) (?:candidate|applicant) w|in a different direction)
            {NOT}(?:selected|chosen|successful|accepted|moving|proceeding|offering|extending|taking|offer you)\b
            {NOT}(?:move|proceed|take|go) (?:forward|ahead|further|with)|\bdecided not to\b
            \b(?:unable|not able) to (?:offer|extend|move|proceed)\b|\b(?:position|role|job) has been filled\b
            {APPLICATION_IS} (?:unsuccessful|denied|rejected|declined)\b
        """),
    },
    outside=NOT_THE_JOB,
)

HIRING_LETTERS = Detector(
    name="hiring_letters",
    version=7,
    labels=("accepted", "rejected"),
    read=read_evidence([STATEMENTS]),
    patterns=join_patterns([STATEMENTS]),
)
"""Whether a hiring e-mail accepts or rejects; null where it leaves that open, or says both."""
