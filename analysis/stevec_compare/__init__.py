"""Tells which differences between two runs of one experiment are real."""
