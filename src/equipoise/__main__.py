"""`python -m equipoise`."""

from equipoise.cli import main

main()
