"""Bundled robots, as data: see LICENSES.md for the source and licence of each."""
