"""Results for readers: HTML, charts, terminal, exported tables; how they are measured belongs to `measuring/`."""
