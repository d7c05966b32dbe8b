"""The probe `resume_score`."""
