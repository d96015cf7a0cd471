"""The engine for accelerators, in JAX; imported only when an accelerator is used."""
