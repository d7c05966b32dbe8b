"""The probe `salary_advice`."""
