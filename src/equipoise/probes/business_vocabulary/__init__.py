"""The probe `business_vocabulary`."""
