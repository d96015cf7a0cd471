"""The kinds of choices among pairs of objects: what is chosen first, and in which order."""

# The k most similar pairs in their order, of which a single one is the usual choice; the k most
# similar as a set; the least similar one; the most and the least similar one.
ORDERED, UNORDERED, FARTHEST, BEST_WORST = range(4)
