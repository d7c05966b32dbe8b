"""Results for people: the terminal, HTML, charts, exports."""
