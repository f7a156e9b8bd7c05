"""Runs a whole installation on one machine, and keeps it running."""
