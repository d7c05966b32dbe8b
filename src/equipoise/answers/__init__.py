"""Answers from elsewhere: read from files or Python, matched to the prompts of a plan, scored; not asked for."""
