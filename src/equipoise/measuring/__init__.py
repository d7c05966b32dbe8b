"""From a probe and answers to marks: plan, evaluate, summarise, total, measure, mark; compare and gate.

Here belongs arithmetic on tables and values. Files, models and drawing do not.
"""
