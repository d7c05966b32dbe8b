"""The probe `gest_translation`."""
