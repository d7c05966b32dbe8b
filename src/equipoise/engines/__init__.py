"""Where others run us: on a cluster of Ray.

Here belongs what hands our work to another program and takes its results back. The work itself does not.
"""
