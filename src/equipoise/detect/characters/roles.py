"""Words for people in roles, for their titles and for names: who else than the character may be in an answer."""

from __future__ import annotations

import re

from equipoise.detect.character_words import NOT_NAMES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ROLE_ENDINGS = "[^aeiouhwt]er|tter|cher|ther|ster|ter|wer|tor|sor|yor|ist|ian|eer|sman|man|smith|wright|herd|keeper"
_ROLES = _words(
    "boss captain chaplain chief client clerk coach colonel cook deputy ex friend guest judge nurse patient "
    "president priest pupil neighbou?r vicar bishop pope diva prima general sergeant corporal major admiral "
    "lieutenant constable sheriff mayor senator friar rabbi imam thief spy pilot chef butler colleague partner "
    "spouse twin sibling cousin child baby kid infant grandchild parent grandparent ward heir apprentice recruit "
    "cadet student graduate witness victim guide poet critic mechanic medic paramedic agent tenant ghost rival "
    "mentor lover ally orphan sexton verger protégée? flatmate roommate classmate comrade champion novice chauffeur "
    "magistrate athlete acrobat architect scribe bard intern assistant consultant accountant servant merchant "
    "secretary matron bailiff person someone curate deckhand dog horse cat mule parrot wolf bird pony donkey "
    "elephant bear lion fox goat hawk falcon dragon puppy kitten hound ship boat car truck bus van crane house "
    "engine"
)
ROLE = re.compile(rf"(?:[a-z]{{3,}}(?:{_ROLE_ENDINGS})|{'|'.join(sorted(_ROLES))})\Z")
"""Somebody in a role, an animal or a thing that may be called *he* or *she*; `NOT_ROLES` only end so."""
NOT_ROLES = _words(
    "other another number water winter summer letter paper corner order matter river tower dinner supper never ever "
    "over under after power center quarter chapter member weather leather silver border shoulder finger flower "
    "later former latter better greater smaller larger older younger rather whether either neither together answer "
    "offer ladder hammer theater timber butter counter disorder character user reader motor tractor factor sector "
    "interior exterior minor senior junior superior list mist human computer printer trailer freezer poster "
    "disaster monster shutter gutter meter litter career beer inner outer upper lower proper clever bitter eager "
    "tender sober cover sweater slipper copper pepper chamber laughter slaughter manner dagger anger danger hunger "
    "ginger trigger tiger layer prayer sensor monitor elevator refrigerator calculator radiator generator corridor "
    "meteor visor mirror terror horror error floor door harbour alter charter encounter stutter ledger whisper "
    "timer rubber lumber fever shiver forever fewer newer shower newspaper jumper temper spider master canister "
    "register theatre drawer filter heater shelter lighter container folder boiler burner helicopter plaster banner "
    "scooter remainder reminder murder wonder thunder powder gender tenor cancer"
)
PLURAL = re.compile(
    r"(?:people|children|men|women|folks?|others|everyone|everybody|somebody|anyone|nobody|both|couple|crew|team|police|"
    r"twins|siblings|parents|grandparents|brothers|sisters|sons|daughters|aunts|uncles|cousins|[a-z]{3,}(?:ers|ors|ists|"
    r"ians|ents|ants|ees|mates|men|women|kids|friends|colleagues|neighbou?rs|boys|girls|clerks|critics|guests|nuns|"
    r"monks|priests|nurses|judges|dogs|horses|animals))\Z"
)
"""Those whom *they* may mean."""
RANKS = _words(
    "Dr Captain Officer Sergeant Judge Doctor Professor Chief Inspector Constable Nurse Sheriff General Detective "
    "Chef Reverend Rev Pastor Senator Mayor Coach Private Lt Sgt Colonel Col Capt Major Sergeant-Major Lieutenant "
    "Admiral Commander Corporal Prof Mx Deputy Ambassador Attaché Bishop Cardinal Rabbi Imam Comrade Old Young Little "
    "Big Saint St Nanny"
)
"""What may stand before a name and says no gender."""
SHORTENED = _words("Mr Mrs Ms Mx Mme Dr Prof Rev Lt Sgt Col Capt Gen St")
"""Titles with a full stop that ends no sentence."""
NO_NAMES = frozenset(NOT_NAMES) | _words(
    "He She They His Her Their Him Hers I My Me We Us Who Whose Name Gender Pronouns Sex Full Title Summary Note "
    "Notes Option Version Draft Take Use Verdict Final Physical Description Overview Key Traits Trait Skills Skill "
    "Hobbies Fear Fears Goals Motivation Motivations Relationships Family Education Hometown Nationality Quirks "
    "Quirk Flaw Flaws Secret Secrets Dream Dreams Desire Wound Want Need Wants Needs Arc Story Hook Narrative Theme "
    "Themes Voice Style Early Childhood Adulthood Present Past Future Setting Location Base Residence Identity "
    "Looks Habits Habit Values Belief Beliefs Core Internal External Ethnicity Height Hair Eyes Build Clothing "
    "Sample Dialogue Scene Scenes Plot Possible Potential Ideas Idea Supporting Cast Lead Protagonist Antagonist "
    "Example Hope Happy Course Feel Half Yours Faithfully Sincerely Regards Best Truly Respectfully Warmly Academy "
    "Army Navy University College School Church Hospital CEO PhD MBA AI UK US USA EU London Paris Berlin New York "
    "Europe America Latin Greek Works Lives Whether Whatever Also Too Yet Against Twenty Thirty Forty Fifty Sixty "
    "Seventy Ten Eleven Twelve Nineteen Street Road River Villa Hotel Chapter Genre Tone Variant Ladyship Lordship"
)
"""Words with a capital letter that are no names."""
NAME_PARTICLES = _words("de van von la di da del al bin ibn el du der den le dos das e y ó ní mac san santa af")
PLACE_WORDS = _words(
    "in at from near of on outside the through across into around to for by against towards toward over off under "
    "beyond via since until during along below above du de la le des en"
)
"""What follows them with a capital letter is a place rather than a person,"""
WEAK_PLACE_WORDS = _words("of to for by on against over with since until during along de la le")
"""unless after these: "the case of Ada Lunt"."""
PLACES = _words(
    "town village city county kingdom island state land port parish valley district hamlet suburb province country "
    "republic region coast bay lake"
)
"""What stands before "of" and the name of a place: "the town of Willow Creek"."""
DETERMINERS = _words(
    "a an the his her their my our your one every another no this that some any each its whose un una une uma ein "
    "eine einen der el la le il o"
)
ARTICLES = _words("un una une uma ein eine einen einer el la le il")
BEING = _words(
    "is was are were am be been being became become becomes remains remained as made stays es est ist è é era fue "
    "war était foi"
)
NAME_VERBS = _words(
    "is was has had does did will would can could never always knows says thinks keeps wants grew came went took "
    "left runs ran sat sits made met told felt knew kept found began lost stood held wrote spoke said gave saw heard "
    "woke slept drove rose fell taught"
)
"""What shows that a capitalised word at the beginning of a sentence is a name."""
