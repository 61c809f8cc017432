"""Advises how long each part of a site may be cached, from its access log."""
