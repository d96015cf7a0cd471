"""The engine's counterpart for accelerators, in JAX; nothing here is imported unless asked for."""
