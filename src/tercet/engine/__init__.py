"""How embeddings are computed: edges, compiled kernels, an optimiser, starts."""
