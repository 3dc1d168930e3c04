"""The numbers that decide formats, and what is said of errors."""

SPEED = 10.0
"""rad/s and m/s: the box's velocity of a joint whose model file has no limit of use."""
FASTEST = 50.0
"""A velocity limit beyond this, such as 1000, stands for none in most model files."""
RISE = 0.1
"""Seconds in which a joint reaches the box's velocity from rest: its acceleration is v / RISE."""
LEAST, MOST = 1e-6, 1e6
"""Of numbers of a box. Beyond, sums of what follows from it and of gravity keep no digit of one of them in any word."""

RANGES = 4000
"""Sampled states whose values choose the formats."""
MARGIN = 2.0
"""A signal's format holds so many times the largest value that sampling met."""
TAILS = 4.0
"""Products with M^-1 have long tails that sampling does not meet: two bits more for them."""

STATES = 1000
"""Sampled states over which an export states errors."""
GOAL = 0.01
"""What a function's largest relative error should stay within; else the export warns."""
CLAMPED = 0.01
"""The part of the states that may have a clamped signal before the export warns."""
WIDER = ("27x18", "27", "32")
"""Words that scale each signal, the cheapest first: what a warning tries."""
