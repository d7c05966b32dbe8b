"""The probe `hiring_an`."""
