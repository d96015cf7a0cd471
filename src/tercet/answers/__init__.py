"""Answers: what observers said, checked once and then trusted."""
