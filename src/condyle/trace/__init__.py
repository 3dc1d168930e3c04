"""THE DOOR: algorithms run on symbols and become Programs or loops; the only place where both wings meet."""
