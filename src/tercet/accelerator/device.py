"""Choice of the device: tercet's own engine on the CPU, or JAX on an accelerator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tercet.errors import InputError, TercetError

DEVICES = ("auto", "cpu", "gpu")

# Environment variable: the JAX platform to use as the GPU; "cpu" tests the code without one.
PLATFORM = "TERCET_JAX_PLATFORM"

WORTH_IT = 5_000_000  # comparisons of all fits; with fewer the CPU finishes while JAX compiles


def check_device(device: object) -> None:
    """Raise unless it is the name of a device."""
    if device not in DEVICES:
        raise InputError(f"device must be 'auto', 'cpu' or 'gpu', got {device!r}.")


def find_device(device: str) -> Any | None:
    """The JAX device, or None for the CPU.

    "auto" is the CPU if JAX is not installed or finds no GPU, which is an error for "gpu".
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
        found = ", ".join(_platforms()) or f"nothing; JAX_PLATFORMS is {os.environ.get(_ONLY)!r}"
        raise InputError(
            f"device='gpu', but JAX finds no GPU (it finds: {found}). Install JAX for your card, "
            "pip install 'tercet[gpu]', or use device='cpu' or device='auto'."
        ) from error


def _platforms() -> list[str]:
    """The platforms JAX finds; none if those it is limited to are missing.

    For a missing "cuda" JAX fails an assertion instead of raising an error.
    """
    try:
        return sorted({found.platform for found in import_module("jax").devices()})
    except (RuntimeError, AssertionError):
        return []


@contextmanager
def computing_on(device: Any) -> Iterator[None]:
    """Let JAX compute on the device, in double precision where asked, until the block ends."""
    jax = import_module("jax")
    try:
        with jax.enable_x64(True), jax.default_device(device):
            yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise TercetError(
            f"the GPU is out of memory ({memory_of(device) / 1e9:.0f} GB for JAX). "
            "Close other programs that use it, or use device='cpu'."
        ) from error


def memory_of(device: Any) -> int:
    """Total bytes available for arrays on the device."""
    stats = device.memory_stats() or {}
    return int(stats.get("bytes_limit", _WITHOUT_LIMIT))


_ONLY = "JAX_PLATFORMS"  # platforms that JAX may use, if set
_WITHOUT_LIMIT = 4 * 2**30  # if the device reports no limit
