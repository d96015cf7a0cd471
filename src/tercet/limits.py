"""Numbers beyond which none means anything any more."""

__all__ = ["LARGEST_NUMBER", "LEAST_NUMBER"]

# Of a coordinate, a distance or a parameter: sums of their squares, and of the squares of those,
# stay finite.
LARGEST_NUMBER = 1e100

# Of a positive parameter: squares can be divided by it.
LEAST_NUMBER = 1 / LARGEST_NUMBER
