"""Turns one finished run or study folder of stevec into tables, figures and an HTML report. Reads files only."""

SCHEMA_VERSION = 2  # the version of manifest.json that this package understands
