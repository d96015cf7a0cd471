"""The kinds of choices among pairs of objects: what is chosen first, and in which order."""

# The k most similar pairs in their order, of which a single one is the usual choice; the k most
# similar as a set; the least similar one; the most and the least similar one. Of a single one, also
# the questions that "cannot tell" answers, too: then nothing is chosen.
ORDERED, UNORDERED, FARTHEST, BEST_WORST, ONE_OR_TIE, FARTHEST_OR_TIE = range(6)
