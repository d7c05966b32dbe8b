"""The probe `discrimination_tamkin`."""
