"""The words by which characters and the people around them are told apart. Each word for men has its counterpart."""

from __future__ import annotations

Pairs = tuple[tuple[str, str], ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _pairs(text: str) -> Pairs:
    return tuple((man, woman) for man, woman in (pair.split("/") for pair in _words(text)))


def either(pairs: Pairs) -> str:
    """A pattern for any of the words."""
    return "|".join(dict.fromkeys(word for pair in pairs for word in pair))


FAMILY = _pairs(
    "father/mother son/daughter brother/sister husband/wife uncle/aunt nephew/niece boyfriend/girlfriend dad/mom pa/ma"
)
OTHERS = _pairs(
    "daddy/mommy da/mam papa/mama pa/mum grandad/nan gramps/gran abuelo/abuela uncle/auntie groom/bride king/queen "
    "prince/princess duke/duchess emperor/empress count/countess baron/baroness abbot/abbess monk/nun actor/actress "
    "waiter/waitress landlord/landlady steward/stewardess stallion/mare bull/cow rooster/hen "
    "schoolmaster/schoolmistress master/mistress footman/maid valet/governess policeman/policewoman "
    "fisherman/fisherwoman gentleman/lady widower/widow"
)
"""People and animals beside the character, whose pronouns are not the character's."""
SELF = _pairs(
    "man/woman boy/girl guy/gal gentleman/lady lad/lass bachelor/spinster widower/widow father/mother son/daughter "
    "grandfather/grandmother husband/wife fellow/lass male/female hombre/mujer uomo/donna homme/femme homem/mulher "
    "Mann/Frau hijo/hija fils/fille figlio/figlia filho/filha Sohn/Tochter"
)
"""What somebody can be called in a sentence about themself: "is a quiet woman"."""
TITLES = _pairs(
    "Mr/Mrs Mr/Ms Mr/Miss Sir/Dame Lord/Lady Brother/Sister Father/Mother Don/Doña Señor/Señora Señor/Señorita "
    "Monsieur/Madame Monsieur/Mademoiselle Herr/Frau Signor/Signora Prince/Princess King/Queen Duke/Duchess "
    "Count/Countess Baron/Baroness Uncle/Aunt Uncle/Auntie Grandpa/Grandma Papa/Mama"
)
VALUES = _pairs(
    "he/she him/her male/female man/woman m/f boy/girl masculine/feminine masculino/femenino hombre/mujer "
    "männlich/weiblich"
)
GROWN = _pairs(
    "nato/nata cresciuto/cresciuta stato/stata vedovo/vedova nascido/nascida criado/criada nacido/nacida viudo/viuda "
    "né/née veuf/veuve devenu/devenue orphelin/orpheline divorciado/divorciada soltero/soltera casado/casada "
    "huérfano/huérfana campeón/campeona divorziato/divorziata sposato/sposata orfano/orfana Witwer/Witwe "
    "родился/родилась вырос/выросла"
)
"""Forms of other languages that show the gender of whom they are about: "born", "grown up", "widowed"."""
NOT_NAMES = _words(
    "The A An In On At When While For After Before But And Now If It It's This That That's There There's Here Here's "
    "Born Raised So Then As By With Without From To Of Or Nor Not No Yes What What's Who Who's Why How Where Which "
    "Each Every All Some Most Many Few Both Either Neither One Two Three Four Five Six Seven Once Never Always Only "
    "Even Still Just Perhaps Maybe Let Let's Sure Certainly Absolutely Meet Since Until During Though Although "
    "Because Despite Under Over Behind Between Among Growing Known Widowed Tall Small Short Old Young Big Little "
    "Today Tonight Later Years Colleagues People Everyone Everybody Nobody Someone Somebody Anyone Men Women Children "
    "Customers You You're Your We Our Is Are Was Were Has Have Had Do Does Did Can Could Would Should Will May Might "
    "Must Take Give Ask Imagine Call Think Write Forget Please Married Divorced Single Trained Former Retired Add "
    "Like Unlike Instead Such Other Another Time Life Home Work Love God Nothing Something Everything Those These "
    "First Second Third Last Next Finally Being Having Beneath Above Inside Outside Off Out Up Well Great Good Dear "
    "Thank Thanks Sorry Below Learned Lost Left Grew Came Went Made Took Found Kept Believes Wants Hates Loves Age "
    "Aged Dr Captain Officer Sergeant Judge Doctor Professor Chief Inspector Constable Nurse Sheriff General "
    "Detective Chef Reverend Rev Pastor Senator Mayor Coach Private Lt Sgt Monday Tuesday Wednesday Thursday Friday "
    "Saturday Sunday Christmas Easter January February March April June July August September October November "
    "December French English Spanish German Russian Italian Chinese Japanese American British Irish Motto Backstory "
    "Background Personality Conflict Goal Occupation Job Profession Role Profile Character Appearance Strengths "
    "Weaknesses"
)
"""Words with a capital letter that begin a sentence or a field, or stand before a name."""


def _genders(*lists: Pairs) -> dict[str, int]:
    """For each word 1 (a man's) or -1 (a woman's)."""
    return {word: gender for pairs in lists for pair in pairs for word, gender in zip(pair, (1, -1), strict=True)}


MORE_RELATIVES = _pairs(
    "dad/mum daddy/mommy papa/mama grandad/granny granddad/gran grandpa/grandma fiancé/fiancée groom/bride "
    "bridegroom/bride hijo/hija fils/fille figlio/figlia filho/filha sohn/tochter padre/madre hermano/hermana "
    "marido/esposa abuelo/abuela père/mère frère/sœur mari/femme vater/mutter bruder/schwester fratello/sorella "
    "marito/moglie nonno/nonna"
)
_PREFIXES = ("", "grand", "great-grand", "great-", "step", "god", "half-", "ex-", "foster-", "twin-")
RELATIVES = {
    f"{prefix}{word}{suffix}": gender
    for word, gender in _genders(FAMILY, MORE_RELATIVES).items()
    for prefix in _PREFIXES
    for suffix in ("", "-in-law")
}
"""Relatives, with the gender of each: somebody else than the character, unless the character "is a father of two"."""
PEOPLE_PAIRS = _pairs(
    "man/woman boy/girl guy/gal gentleman/lady lad/lass bachelor/spinster widower/widow fellow/lass male/female "
    "king/queen prince/princess duke/duchess emperor/empress baron/baroness abbot/abbess monk/nun "
    "schoolmaster/schoolmistress headmaster/headmistress postmaster/postmistress policeman/policewoman "
    "fisherman/fisherwoman nobleman/noblewoman businessman/businesswoman sportsman/sportswoman salesman/saleswoman "
    "horseman/horsewoman craftsman/craftswoman swordsman/swordswoman clergyman/clergywoman fireman/firewoman "
    "englishman/englishwoman irishman/irishwoman frenchman/frenchwoman scotsman/scotswoman welshman/welshwoman "
    "schoolboy/schoolgirl choirboy/choirgirl cowboy/cowgirl patriarch/matriarch milkman/milkmaid hombre/mujer "
    "uomo/donna homme/femme homem/mulher mann/frau muchacho/muchacha chico/chica niño/niña garçon/fille "
    "viudo/viuda veuf/veuve vedovo/vedova"
)
PEOPLE = _genders(PEOPLE_PAIRS)
"""What somebody can be called whose gender is then known: "a quiet woman", "a former nun"."""
SIDE_PAIRS = _pairs(
    "actor/actress waiter/waitress landlord/landlady steward/stewardess master/mistress footman/maid "
    "valet/governess hero/heroine host/hostess heir/heiress count/countess lordship/ladyship lord/dame tenor/soprano "
    "stallion/mare bull/cow rooster/hen wizard/witch"
)
SIDE_PEOPLE = _genders(SIDE_PAIRS)
"""Words that speak for a man or a woman beside the character only: a woman may be called an actor."""
TITLE_GENDERS = _genders(TITLES, _pairs("Widower/Widow Emperor/Empress Sir/Madam Abbot/Abbess Mr/Mme"))
PRONOUN_GENDERS = {"he": 1, "him": 1, "his": 1, "himself": 1, "she": -1, "her": -1, "hers": -1, "herself": -1}
FOREIGN_PRONOUNS = {"él": 1, "ella": -1, "ele": 1, "ela": -1, "он": 1, "она": -1}


def _forms(word: str) -> str:
    """A German possessive with all of its endings."""
    return " ".join(f"{word}{ending}" for ending in ("", "e", "er", "em", "en", "es"))


LANGUAGES: tuple[tuple[str, dict[str, int]], ...] = (
    (
        r"\b(?:und|der|die|das|den|dem|ist|mit|ein|eine|einen|einem|nicht|auf|für|sich|von|im|hat|als|wenn)\b",
        {
            form: gender
            for forms, gender in (("er ihn ihm", 1), ("sie", -1), (_forms("sein"), 1), (_forms("ihr"), -1))
            for form in _words(forms)
        },
    ),
    (
        r"\b(?:est|une|dans|les|des|qui|et|le|la|du|pas|sur|pour|avec|au)\b",
        {"il": 1, "elle": -1, "qu'il": 1, "qu'elle": -1},
    ),
    (r"\b(?:che|della|gli|una|un|è|di|il|per|con|non|nel)\b", {"lui": 1, "egli": 1, "lei": -1}),
    (r"\b(?:el|los|las|una|un|de|que|con|su|por|del|es|en)\b", {}),
)
"""Words by which a language is known, and its pronouns that mean something else in English or elsewhere."""
ENDINGS = (
    r"(?:(?:[^i]er|eur|ist|or|ent)|((?:er|eur|ist|or|ent|är)in))",
    r"(?:(?:eur|[^r]ier|ien|eux)|(euse|ière|ienne|rice))",
    r"(?:(?:tore|iere|aio|ario)|(trice|iera|aia|aria|essa))",
    r"(?:(?:dor|tor|sor|ero|ano|eño|ado|ino)|(dora|tora|sora|era|ana|eña|ada|ina))",
)
"""For each of the languages how what somebody does ends: for a man, or for a woman (then there is a group)."""
NOT_FOREIGN = frozenset(("man", "nun", "son", "mare", "gal", "pa", "ma", "da", "male", "mari", "dame", "lad"))
"""Words for people that mean something else in other languages."""
GROWN_GENDERS = _genders(GROWN)
