"""Other libraries, timed beside Polyte in one process: what bench/operators.py and
bench/models.py share.

A library that is not installed is left out and said to be; none is needed to build or to
test Polyte.
"""
