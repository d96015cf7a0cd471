"""Whether the uncertainties are true, measured slowly and written down: ``python -m studies``."""
