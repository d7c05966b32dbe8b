"""The probe `hiring_bloomberg`."""
