"""``tercet`` and ``python -m tercet``: what must be settled before anything large is imported."""

import os

__all__ = ["main"]

INTERRUPTED = 130  # that of tercet.cli.main, which is not to be imported yet


def main() -> int:
    """Run the command line, which an interruption ends quietly while it is still being loaded.

    There is nothing to be tidied up before a command runs, and an exception would be lost, or
    turned into another, in the libraries that are being imported. The same holds after the command.
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
