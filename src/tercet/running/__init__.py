"""How work is run: threads, memory, seeds and versions, checkpoints."""
