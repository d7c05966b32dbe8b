"""The probe `jobs_lum`."""
