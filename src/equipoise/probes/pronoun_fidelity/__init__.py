"""The probe `pronoun_fidelity`."""
