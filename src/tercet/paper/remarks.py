"""What we saw of the claims in the full run: words beside the verdicts, written after it."""

__all__ = ["REMARKS"]

REMARKS: dict[str, str] = {}
