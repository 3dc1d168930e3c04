"""Measurements: scripts that write results files, and the results they wrote."""
