"""Embeddings of many resamples of the answers (paper, section 3.2)."""

from tercet.bootstrap.bootstrap import Bootstrap

__all__ = ["Bootstrap"]
