"""The probe `word_association`."""
