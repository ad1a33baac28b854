"""Draws from a row's own generator that several views make."""

from __future__ import annotations

import math
import random


def rounded(number: float, draw: random.Random) -> int:
    """A whole number next to `number`, drawn so that its mean is `number`: 1.2 is 2 in a fifth of the draws."""
    whole = math.floor(number)
    return whole + (draw.random() < number - whole)
