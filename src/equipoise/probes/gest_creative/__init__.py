"""The probe `gest_creative`."""
