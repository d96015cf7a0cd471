"""Scores of given embeddings and of others' answers."""

from tercet.uses.score.embedding import Score, score_embedding
from tercet.uses.score.machines import Agreement, agreement

__all__ = ["Agreement", "Score", "agreement", "score_embedding"]
