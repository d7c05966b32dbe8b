"""The report as one HTML file: its content, templates and style; charts are drawn in `report/charts/`."""
