"""Other people's results as reports: one module for each tool that writes some.

An importer (`importer.py`) says how to recognise a tool's output and turns it into reports of
our own format in which every value knows where in the original it stands. `registry.py` lists
them, `reading.py` is how `check` and `convert` come to them.
"""
