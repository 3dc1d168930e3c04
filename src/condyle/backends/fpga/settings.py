"""The numbers behind the formats, the default box and the warnings about errors."""

SPEED = 10.0
"""Default velocity of the box in rad/s or m/s, for a joint without a usable velocity limit."""
FASTEST = 50.0
"""A larger velocity limit, such as 1000, means "no limit" in most model files."""
RISE = 0.1
"""Seconds in which a joint reaches the box's velocity from rest: its acceleration is v / RISE."""
LEAST, MOST = 1e-6, 1e6
"""The least and the largest number of a box. Beyond them, a sum with gravity loses all digits of one summand."""
ANGLE = 31.0
"""The largest bound of an angle [rad]. Sines and cosines are right below 32 rad in every word."""

RANGES = 4000
"""Sampled states whose values choose the formats."""
MARGIN = 2.0
"""The format of a signal holds this many times its largest sampled value."""
TAILS = 4.0
"""The same for products with M^-1: sampling misses their rare large values, so they get two more bits."""

STATES = 1000
"""Sampled states for the errors that an export reports."""
GOAL = 0.01
"""An export warns if the largest relative error of a function is above this."""
CLAMPED = 0.01
"""An export warns if a larger part of the states has a clamped signal."""
WORDS = ("12", "16", "18", "20x18", "25x18", "27x18", "27", "32")
"""The words that are compared, the narrowest first. All have a scale for each signal."""
