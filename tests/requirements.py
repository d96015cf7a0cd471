"""What pyproject.toml declares: packages that come with tercet, and those that need an extra."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
IMPORTED_AS = {"scikit-learn": "sklearn", "arviz-stats": "arviz_stats", "pillow": "PIL"}
FOR_DEVELOPERS = {"dev", "docs"}  # extras that the package itself never imports


def imported(requirements):
    """The names under which requirements are imported."""
    names = {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in requirements}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


CORE = imported(PROJECT["dependencies"])
EXTRA = {
    name
    for extra, requirements in PROJECT["optional-dependencies"].items()
    if extra not in FOR_DEVELOPERS
    for name in imported(requirements)
} - CORE
