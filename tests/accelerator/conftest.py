"""Programs of the accelerator, compiled for the CPU where there is no other device."""

import jax
import pytest

from tercet.accelerator.device import PLATFORM


@pytest.fixture
def an_accelerator(monkeypatch):
    """A device, the CPU if need be, and numbers of double precision."""
    if jax.default_backend() == "cpu":
        monkeypatch.setenv(PLATFORM, "cpu")
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def compiled_quickly():
    """Compiling takes longer than computing here."""
    jax.config.update("jax_disable_most_optimizations", jax.default_backend() == "cpu")
    yield
    jax.config.update("jax_disable_most_optimizations", False)
