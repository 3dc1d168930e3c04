"""Other libraries, timed beside ours: one adapter each, found and built only when asked for."""
