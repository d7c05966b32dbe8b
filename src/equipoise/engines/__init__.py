"""Where others run us: tools for evaluations and clusters that ask the model themselves.

Here belongs what turns a plan into their units of work, and their answers into ours. How answers are read and measured
does not.
"""
