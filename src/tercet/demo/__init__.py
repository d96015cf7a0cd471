"""The main job on a simulated world: a file of answers in, a report that says how sure it is out.

Run as ``tercet demo`` or ``python -m tercet.demo``.
"""

from tercet.demo.run import main, run_demo

__all__ = ["main", "run_demo"]
