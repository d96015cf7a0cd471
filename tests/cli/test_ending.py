"""A signal ends a command even while compiled code, which is deaf to it, runs."""

import signal
import subprocess
import sys

import pytest

# The command's only step is compiled, runs without Python's lock and takes far too long.
DEAF = """
import hashlib, sys
from tercet.cli import check, main

sys.modules["tercet.cli.main"].PATIENCE = 0.2

def run(options):
    print("deaf", flush=True)
    hashlib.pbkdf2_hmac("sha512", b"", b"", 2**31 - 1)

check.run = run
raise SystemExit(main(["check", "answers.csv"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_compiled_code_does_not_keep_a_command_alive(sent):
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored here
    try:
        with subprocess.Popen([sys.executable, "-c", DEAF], **pipe) as process:
            try:
                assert process.stdout.readline() == "deaf\n", process.stderr.read()
                process.send_signal(sent)
                _, said = process.communicate(timeout=60)
            finally:
                process.kill()
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.returncode == 130
    assert said == "\ntercet check: interrupted.\n"
