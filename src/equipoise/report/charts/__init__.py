"""Charts as SVG and PNG, drawn from plain values; what a page shows around them belongs to `report/html/`."""
