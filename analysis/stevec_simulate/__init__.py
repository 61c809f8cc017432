"""Simulates runs of which the truth is known, and counts how often the analysis errs."""
