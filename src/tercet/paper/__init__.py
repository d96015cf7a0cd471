"""Reproducing the paper: every figure, every claim (section 5 and supplement).

One file per figure, `claims` of the paper about them, `settings` of all experiments, and
`reproduce` to run everything.
"""
