"""Runs the analysis on runs whose results are known, for `stevec verify`."""
