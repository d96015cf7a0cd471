"""Which device computes: tercet's own engine on the CPU, or JAX on an accelerator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tercet.errors import InputError, TercetError

DEVICES = ("auto", "cpu", "gpu")

# Names the JAX platform that stands for the GPU: "cpu" tries the accelerator's code without one.
PLATFORM = "TERCET_JAX_PLATFORM"

WORTH_IT = 5_000_000  # comparisons of all fits; with fewer the CPU is done while JAX compiles


def check_device(device: object) -> None:
    """Raise unless it is the name of a device."""
    if device not in DEVICES:
        raise InputError(f"device must be 'auto', 'cpu' or 'gpu', got {device!r}.")


def find_device(device: str) -> Any | None:
    """JAX's device that is meant, or None for the CPU.

    "auto" is the CPU where JAX is not installed or sees no GPU, which is an error for "gpu".
    """
    check_device(device)
    if device == "cpu":
        return None
    try:
        jax = import_module("jax")
    except ImportError as error:
        if device == "auto":
            return None
        raise InputError(
            "device='gpu' needs JAX: pip install 'tercet[gpu]', or use device='cpu'."
        ) from error
    try:
        return jax.devices(os.environ.get(PLATFORM) or "gpu")[0]
    except (RuntimeError, AssertionError) as error:
        if device == "auto":
            return None
        seen = ", ".join(_platforms()) or f"nothing; JAX_PLATFORMS is {os.environ.get(_ONLY)!r}"
        raise InputError(
            f"device='gpu', but JAX sees no GPU (it sees: {seen}). Install JAX for your card, pip "
            "install 'tercet[gpu]', or use device='cpu' or device='auto'."
        ) from error


def _platforms() -> list[str]:
    """What JAX can compute on; nothing where the only platforms it may use are not there.

    For a missing "cuda" among them it has an assertion instead of an error.
    """
    try:
        return sorted({found.platform for found in import_module("jax").devices()})
    except (RuntimeError, AssertionError):
        return []


@contextmanager
def computing_on(device: Any) -> Iterator[None]:
    """Let JAX compute on the device, and know double precision, until the block ends."""
    jax = import_module("jax")
    try:
        with jax.enable_x64(True), jax.default_device(device):
            yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise TercetError(
            f"the memory of the GPU ({memory_of(device) / 1e9:.0f} GB for JAX) does not suffice. "
            "End other programs that use it, or use device='cpu'."
        ) from error


def memory_of(device: Any) -> int:
    """Bytes that arrays on the device may take in all."""
    stats = device.memory_stats() or {}
    return int(stats.get("bytes_limit", _WITHOUT_LIMIT))


_ONLY = "JAX_PLATFORMS"  # those that JAX may use, where it is set
_WITHOUT_LIMIT = 4 * 2**30  # where the device does not tell
