"""Transcripts: one page on which people search and filter the answers of a run."""
