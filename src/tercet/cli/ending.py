"""Signals end a command, whatever it is doing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["ended_in_any_case"]

PATIENCE = 3.0  # seconds that a command has to end by itself


@contextmanager
def ended_in_any_case(command: str, code: int) -> Iterator[None]:
    """Let no command outlive by much the signal that is to end it; it then has this exit code.

    Python acts on a signal between two of its own steps, and a compiled one may take minutes with
    a million objects. So a thread hears the signal too, and ends the process if the command has
    not ended soon after. No file is half-written then: files get their name when they are whole,
    and checkpoints keep what is done in transactions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(heard, ended, command, code), daemon=True)
    watch.start()
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        told.close()  # the thread hears nothing more, and ends
        watch.join()
        heard.close()


def _watch(heard: socket.socket, ended: threading.Event, command: str, code: int) -> None:
    """End the process if the command has not ended some time after a signal."""
    while numbers := heard.recv(64):
        if {signal.SIGINT, signal.SIGTERM}.isdisjoint(numbers) or ended.wait(PATIENCE):
            continue
        for worker in multiprocessing.active_children():
            worker.terminate()
        with suppress(OSError):
            os.write(2, f"\ntercet {command}: interrupted.\n".encode())
        os._exit(code)
