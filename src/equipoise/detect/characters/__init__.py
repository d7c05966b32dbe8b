"""The careful reading of characters: does the answer invent a man, a woman, neither, or several people?"""

from equipoise.detect.characters.reading import CHARACTERS

__all__ = ["CHARACTERS"]
