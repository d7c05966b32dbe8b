"""Answers from elsewhere: read from files or Python, matched to the prompts of a plan, scored.

Here belong file formats and matching. Asking models and storing runs does not.
"""
