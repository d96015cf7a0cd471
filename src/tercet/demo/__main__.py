"""``python -m tercet.demo``."""

from tercet.demo import main

if __name__ == "__main__":
    raise SystemExit(main())
