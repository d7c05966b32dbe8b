"""Where others run us and ask the model themselves; how answers are read and measured does not belong here."""
