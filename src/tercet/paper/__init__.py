"""Reproducing the paper: every figure, every claim (section 5 and supplement).

One file for each figure, `claims` for what the paper says of them, `settings` for every number that
was chosen, and `reproduce` to run it all.
"""
