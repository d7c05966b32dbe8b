"""How Spanish, German, French, Italian and Portuguese hiring e-mails reject, accept and leave open, as patterns.

A rejection is a word of regret with "not" or "another" after it in the same sentence, or a phrase that says it itself.
"""

from __future__ import annotations

from equipoise.detect.rules import any_of

_REGRET = any_of(
    r"\b(?:lamentablemente|desafortunadamente|desgraciadamente|lamentamos|sentimos|por desgracia|infelizmente|"
    r"leider|bedauer[a-z]*|bedauerlicherweise|malheureusement|regrett?[a-z]*ons|(?:au|le) regret|désolé[es]*|toutefois|"
    r"cependant|purtroppo|spiacenti)\b",
)
_NOT_OR_ANOTHER = (
    r"(?:no|não|non|nicht|keine[nrm]?|absagen?|anderweitig|vergeben|besetzt|andere[nrsm]?|pas|ne pouv[a-z]+|aucune?|"
    r"autres?|refus[a-z]*|otr[oa]s?|outr[oa]s?|altr[aoie]|rechazad[oa]|desestimad[oa])"
)
REJECTED = any_of(
    rf"{_REGRET}[^.!?…:;\n]*?[ ,]{_NOT_OR_ANOTHER}\b[^.!?\n]*",
    r"\b(?:ha|fue) (?:sido )?(?:rechazad|desestimad|descartad)[oa]\b|\bno (?:ha(?:s|n)? sido|hemos podido|podemos|"
    r"podremos|vamos a|continuar(?:á|emos)|seguir(?:á|emos)|fue|resultó) "
    r"(?:[a-z]+ )?(?:seleccionad|elegid|contratad|aceptad|contar|ofrecer|contratar|incorporar|continuar|seguir|avanzar|"
    r"admitid)[a-z]*",
    r"\b(?:hemos (?:decidido|optado|elegido|seleccionado)(?: por)?|se (?:ha decidido|queda)) (?:[a-z]+ ){0,4}(?:no\b|"
    r"otr[oa]s?\b)",
    r"\bnicht (?:berücksichtig|ausgewählt|in die engere|für sie entschieden|für dich entschieden|"
    r"weiter (?:zu )?verfolg)[a-zü]*",
    r"\b(?:für|mit) (?:eine[nr]?|andere[nr]?)(?: andere[nr]?)? (?:person|mitbewerb|bewerb|kandidat)[a-z]*|"
    r"\babsage (?:zu )?erteilen",
    r"\b(?:n'(?:a|avez|ont|avons|est)|ne (?:sommes|pouvons|donnerons|sera|retiendrons|serez|"
    r"correspond))[^.!?\n]{0,30}? pas\b[^.!?\n]{0,40}?(?:retenu|retenir|suite favorable|en mesure|sélectionné|choisi|"
    r"correspond|offrir|proposer|poursuivre|engager|embaucher)",
    r"\b(?:confié|attribué|donné) le poste\b[^.!?\n]*? à (?:une?|quelqu)|\b(?:retenu|choisi|préféré) une? autre\b|"
    r"\bde ne pas (?:donner|retenir|poursuivre|vous)\b",
    r"\bnon (?:è stat[oa]|possiamo|abbiamo)\b[^.!?\n]{0,40}?(?:selezionat|accett|offrir|assum)[a-z]*",
    r"\bnão (?:foi|podemos|poderemos|vamos)\b[^.!?\n]{0,40}?(?:selecionad|aceit|oferecer|contratar|seguir|"
    r"prosseguir)[a-z]*",
)
NO_DECISION = (
    r"\bnoch (?:nicht entschieden|keine entscheidung|geprüft|offen)|\b(?:todavía|aún) no\b|\bpas encore\b|"
    r"\bainda não\b|\bancora (?:non|deciso)\b|\bin bearbeitung\b|\ben cours d'examen\b"
)
OPEN = (
    r"\bentscheidung[^.!?\n]*\bnoch\b|"
    r"\b(?:seleccionad[oa]|selecionad[oa]|invit[a-zé]*|einladen|einladung|laden wir|"
    r"convi[a-z]*)\b[^.!?\n]*?(?:entrevista|entretien|gespräch|colloquio|kennenlern)[a-z]*"
)
ACCEPTED = any_of(
    r"\bhas? sido (?:seleccionad|elegid|contratad|aceptad)[oa]\b|\bstat[oa] (?:selezionat|assunt)[oa]\b|"
    r"\bfoi (?:selecionad|aprovad|contratad|escolhid)[oa]\b|\bes (?:suy|tuy)[oa]\b|\b(?:hemos decidido|complace|"
    r"encantad[a-z]+|gusto|alegra|placer) (?:[a-z]+ ){0,4}?(?:contratar|ofrecer|incorporar|contar con|dar)(?:l[ea]|te|"
    r"l[ea]s)?\b",
    r"\bfür (?:sie|dich) entschieden\b|\b(?:stelle|position|posten|job)\b[^.!?\n]{0,40}?\b(?:anbieten|anzubieten|"
    r"gehört (?:ihnen|dir)|zusagen|zuzusagen)\b|\b(?:sie haben|du hast) (?:die stelle|den job)\b|\beine zusage\b|"
    r"\beinzustellen\b|\bmöchten (?:sie|dich)(?: [a-z]+)? einstellen\b",
    r"\b(?:candidature a|profil a|vous avez|vous êtes) (?:été )?(?:retenu|choisi|sélectionné|accepté|engagé|embauché)|"
    r"\bvous (?:proposer|offrir|confier|confions|attribuer|offrons|proposons) (?:le|ce|un) (?:poste|emploi|contrat)|"
    r"\bvous confie\b|\bprenez (?:[a-z]+ )?vos fonctions\b|\ble poste est à vous\b|\bvous engager\b|\bvous embaucher\b",
)
AS_IF_REJECTED = any_of(
    rf"{_REGRET}|\bintern besetz|\bpas été |\b(?:une? )?autres? (?:personne|candidat)|\bandere[nr]? (?:bewerb|"
    rf"kandidat)|"
    r"\baltri candidati|\botr[oa]s? (?:candidat|aspirant|postulant|persona)|\balles gute für (?:ihre|deine|die|den)\b|"
    r"\bmucha suerte\b|\bvos recherches\b",
)
AS_IF_ACCEPTED = any_of(
    r"\bfreuen uns(?:,| (?:sehr|ihnen|dir|dass|sie|dich|auf)\b)|\bcomplace\b|\bplaisir de\b|\bempiezas? el\b|"
    r"\b(?:enhorabuena|felicidades|felicitaciones|félicitations|parabéns|congratulazioni)\b|\bglückwunsch|"
    r"\bbienvenid[oa]s?\b|\bbienvenue\b|\bwillkommen (?:im|in|bei|an)\b|\bbem-vind[oa]\b|\bbenvenut[oa]\b",
)
