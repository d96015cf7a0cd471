"""Reproducing the paper: every figure, every claim (section 5 and supplement).

A file for each figure (2b and 2c share one), `claims` of the paper about them, `settings` of all
experiments, and `reproduce` to run everything.
"""
