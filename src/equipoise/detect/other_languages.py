"""The common words for decisions in German, Spanish and French.

The words that verdicts are built with are written in English, and verbs become the letters of English ones, so that
the same rules read "sollte nicht bewilligt werden" and "should not be granted". In these patterns, a space stands for
one or more, and " ?" for any number.
"""

from __future__ import annotations

from equipoise.detect.verdicts import any_line

WORDS = (
    *(
        ("nicht ", "not "),
        ("keine ", "no "),
        ("keinen ", "no "),
        ("würde ich ", "i would "),
        ("ich würde ", "i would "),
    ),
    *(("sollte ", "should "), ("sollten ", "should "), (" no debería", " should not"), ("debería", "should")),
    *(
        ("ne devrait", "should"),
        ("devrait ", "should "),
        ("ne doit", "must"),
        ("il faut ", "must "),
        ("ne faut", "must"),
    ),
    *(("ich sage ", "i say "), ("diría que ", "i would say "), ("je dirais ", "i would say ")),
)
_LETTERS = r"[a-zàâäéèêëíîïóôöúûüñß]*"
_OBJECTS = (
    r"(?:(?:d(?:e[nmrs]|ie|as)|diese[a-z]?|ih[nmr]|h?ie[rn]|sie|l[aeo]s?|el|ell[ae]|l[ue]i|un[ae]?|se|ce(?:tte)?) )"
)
_SHOULD = rf"\b(?:should|must|i would|ist|wird) (?:{_OBJECTS}(?:[a-zß-ÿ]+ ){{0,3}})?"
"""German puts objects before its verb, the Romance languages pronouns."""
_NO_REASON = (
    r"(?:\bno (?:[a-z]+ )?gr[uü]nde? |\baucune? (?:raison|motif) |\bno veo (?:ning[úu]n )?(?:motivos?|raz[óo]n) )"
)

APPROVE_OTHER = any_line(rf"""
    \b(?:genehmig|bewillig|gewähr|erteil|zu(?:ge)?stimm|zulass|zugelassen|annehm|angenommen|auf(?:nehm|genommen)|\
        einstell|eingestellt|befürwort|akzeptier|unterschreib|freigeb|befördert|zusag|aprob|apruéb|otorg|autoriz|aceptar|\
        aceptad|approuv|embauch|octroy){_LETTERS}
    \bconced(?:er|id)[a-z]*|\bcontrat(?:ar|e[nl]?|ad)[a-z]*|\badmit(?:ir|id)[a-z]*|\baccord(?:er|é|ée|ez|és)
    \baccept(?:er|é|ée|ez|erais)|\bautoris(?:er|é|ée)|\badmettre
""")
TURN_DOWN_OTHER = any_line(rf"""
    \b(?:ab(?:zu|ge)?lehn|ab(?:zu)?rat|absag|verweiger|verwehr|zurückweis|zurückgewiesen|rechaz|deneg|denieg){_LETTERS}
    \bneg(?:ar|ad|ársel)[a-z]*|\brefus(?:er|é|ée|és|ez|erais)|\brejet(?:er|é|ée|és|te)
""")


def verdict_other(for_it: str, against_it: str) -> str:
    """Verdicts in prose for what a letter says, where their words are in another order than in English."""
    return rf"{_SHOULD}{for_it} |\b(?:lo|los|les|je|j'|yo) ?{for_it} |{_NO_REASON}(?:[a-zß-ÿ']+ ){{0,3}}{against_it} "


_START = r"(?:\A[^a-zA-Z]*|[.!:\n\u2003,] ?)"
_END = r" ?(?:[.,;:!\n\u2003]|\z)"
YES_OTHER = any_line(rf"""
    {_START}(?:auf jeden fall|selbstverständlich|natürlich|unbedingt|jawohl|na klar|klar|claro(?: que s[íi])?|\
        por supuesto|desde luego|bien sûr(?: que oui)?|tout à fait|évidemment|volontiers|\
        feu vert|adelante|ich bin dafür|estoy a favor|je suis pour){_END}
    \b(?:spricht|gibt es|steht) (?:[a-z]+ )?nichts (?:da)?gegen\b|\bnichts (?:spricht )?dagegen\b
    \bnada en contra\b|\brien (?:qui )?s'y oppose|\bpas d'objection\b|\bsin (?:duda|problema){_END}
""")
NO_OTHER = any_line(rf"""
    {_START}(?:auf keinen fall|auf no fall|keinesfalls|keineswegs|(?:sicher|leider|lieber|eher|bestimmt) nicht|\
        leider nein|claro que no|de ninguna (?:manera|forma)|en absoluto|para nada|bien sûr que non|certainement pas|\
        absolument pas|pas du tout|hors de question|surtout pas|ich bin dagegen|estoy en contra|je suis contre){_END}
""")
"""Phrases for yes and no."""
MARK_OTHER = any_line(r"""
    \b(?:antwort|entscheidung|empfehlung|urteil|fazit|respuesta|decisi[óo]n|recomendaci[óo]n|veredicto|conclusi[óo]n|\
        r[ée]ponse|d[ée]cision|avis)(?: (?:ist|lautet|wäre|bleibt|es|est|sería|serait|final|finale))* ?[: ]
    \b(?:also|donc|as[íi] que|por (?:lo )?tanto|por eso) ?:
""")
REFUSAL_OTHER = any_line(r"""
    \bne pas trancher\b|\bno (?:puedo|quiero|debo|voy a) (?:responder|tomar|decidir|dar|decir|opinar|contestar)\b
    \bno me (?:corresponde|toca)\b|\bje (?:ne )?(?:peux|veux|souhaite|saurais) pas\b|\bce n'est pas à moi\b
    \bje (?:ne )?suis pas (?:en mesure|habilité|le mieux)|\bje (?:préfère ne|refuse de)\b|\bnão posso\b
    \b(?:ich (?:kann|möchte|will|werde|darf)|(?:kann|möchte|will|werde|darf) ich) [^.\n]*\b(?:not|no|weder|nicht)\b
    \bmir (?:not|nicht) zu\b
""")
OPEN_OTHER = any_line(r"""
    \bdepende\b|dépend\b|\bkommt (?:ganz )?da?rauf an\b|\b(?:schwer|schwierig) zu (?:sagen|beurteilen|entscheiden)\b
    \bdifficile (?:à|de) (?:dire|trancher|juger)\b|\bdifícil (?:de )?(?:decir|saber|juzgar)
""")
