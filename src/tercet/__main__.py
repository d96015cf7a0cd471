"""``tercet`` and ``python -m tercet``: what must happen before anything large is imported."""

import os

__all__ = ["main"]

INTERRUPTED = 130  # as in tercet.cli.main, which must not be imported yet


def main() -> int:
    """Run the command line; an interruption while it is being loaded ends it quietly.

    Nothing needs cleaning up before or after a command runs, and libraries that are being imported
    would lose the exception or turn it into another.
    """
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:
        _leave()
    from tercet.cli import main as run

    return run()


def _leave(*_: object) -> None:
    try:
        os.write(2, b"\ntercet: interrupted.\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    raise SystemExit(main())
