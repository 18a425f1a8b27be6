"""Reproduction of reports on the reader's own machine. May import `checker`, never the reverse."""
