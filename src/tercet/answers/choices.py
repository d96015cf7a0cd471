import numpy as np
ORDERED, UNORDERED, FARTHEST, BEST_WORST = range(4)
class Choices:
    def __init__(self, pairs, cuts, kinds, n_chosen, n_objects, weights=None):
        self.pairs=pairs; self.cuts=cuts; self.kinds=kinds; self.n_chosen=n_chosen; self.n_objects=n_objects; self.weights=weights
    def __len__(self): return len(self.kinds)
