"""The optimisation of embeddings: edges, compiled kernels, L-BFGS, starts."""
