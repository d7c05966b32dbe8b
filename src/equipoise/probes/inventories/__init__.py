"""The probe `inventories`."""
