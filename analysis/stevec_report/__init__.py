"""Turns one finished run folder of stevec into tables, figures and one HTML report. Reads files only."""

SCHEMA_VERSION = 1  # the newest version of manifest.json that this package understands
