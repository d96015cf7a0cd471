"""Numba with a disk cache that notices every edit, and functions that a compiler can vectorise.

Numba keys its cache by the file of the compiled function alone, so an edit in a file it calls goes
unnoticed. Here every compiled function is keyed by the hash of all compiled sources. A damaged or
write-protected cache costs time, but no run fails.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

# Where compiled code lives; each layer may call the ones before it.
_LAYERS = ("compiled", "kinds", "models", "engine", "uncertainty", "posterior", "uses")


@cache
def source_hash(module: str) -> str:
    """Hash of every source file whose compiled code that module may call."""
    layer = module.removeprefix("tercet.").partition(".")[0]
    last = _LAYERS.index(layer) if layer in _LAYERS else len(_LAYERS) - 1
    digest = hashlib.sha256()
    for name in _LAYERS[: last + 1]:
        path = Path(__file__).parent / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            digest.update(file.read_bytes() if file.exists() else b"")
    return digest.hexdigest()


_CHECKSUM = 32  # bytes of it
_EXACT = {"contract"}
_REORDERED = {"contract", "reassoc", "nsz"}  # NaN and infinity keep their meaning


def _compile(function: F, fastmath: set[str], *, inline: bool = False) -> F:
    compiled: Any = numba.njit(
        nogil=True, error_model="numpy", fastmath=fastmath, forceinline=inline
    )(function)
    if inline:  # its callers are cached
        return cast(F, compiled)
    with suppress(RuntimeError):  # no cache folder can be written
        compiled._cache = _Cache(function)  # like Numba's enable_caching, with our own cache
    return cast(F, compiled)


class _CacheFile(IndexDataCacheFile):
    """Numba's files, each with a checksum; a changed file counts as missing.

    The checksum covers the version and the sources, so that no other code is ever loaded.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """The data saved for the key; processes may have given one number to two keys."""
        found, data = super().load(key) or (None, None)
        return data if found == key else None

    def _load_index(self) -> dict[Any, str]:
        return self._read(self._index_path) or {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        checksum, kept = content[:_CHECKSUM], content[_CHECKSUM:]
        return pickle.loads(kept) if checksum == self._checksum(kept) else None

    def _write(self, path: str, content: Any) -> None:
        kept = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._checksum(kept) + kept)

    def _checksum(self, kept: bytes) -> bytes:
        digest = hashlib.sha256(f"{self._version} {self._source_stamp} ".encode())
        digest.update(kept)
        return digest.digest()


class _Cache(FunctionCache):
    """Numba's cache, made optional."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = source_hash(function.__module__)
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The saved compiled code, or None."""
        try:
            return super().load_overload(signature, context)
        except Exception:  # unusable here, for whatever reason: compile again
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save compiled code, if possible."""
        try:
            super().save_overload(signature, data)
        except OSError as error:
            _tell_once(self._cache_path, error.strerror or str(error))


@cache
def _tell_once(folder: str, why: str) -> None:
    warnings.warn(
        f"compiled code cannot be saved in {folder} ({why}), so every start takes as long as the "
        "first. Free some space there, or set the environment variable NUMBA_CACHE_DIR to another "
        "folder.",
        stacklevel=2,
    )


def announce_compilation(function: Callable[..., Any]) -> None:
    """Say on a terminal that a function is going to be compiled, which takes a while."""
    compiled: Any = function
    if compiled.overloads or not sys.stderr.isatty():
        return
    index = getattr(getattr(compiled._cache, "_cache_file", None), "_index_path", None)
    if index is None:
        how_often = (
            "at every start, as no cache folder can be written; set the environment variable "
            "NUMBA_CACHE_DIR to one"
        )
    elif Path(index).exists():
        return
    else:
        how_often = "once"
    print(
        f"tercet: compiling its engine for this machine, {how_often}, about 20 s …", file=sys.stderr
    )


def jit(function: F) -> F:
    """Compile on first use, without the interpreter lock, and save the result on disk."""
    return _compile(function, _EXACT)


def jit_sums(function: F) -> F:
    """Compile like `jit`, with sums in the order of vector instructions, which is fixed."""
    return _compile(function, _REORDERED)


def inline(function: F) -> F:
    """Compile into each caller: a call in a loop would prevent its vectorisation."""
    return _compile(function, _EXACT, inline=True)


def inline_sums(function: F) -> F:
    """Compile like `inline` with the sums of `jit_sums`; constant arguments specialise the code."""
    return _compile(function, _REORDERED, inline=True)


def _view(source: Any, target: Any) -> Any:
    """Reinterpret the bits of one type as another."""

    def view(typing_context: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(target))

        return target(source), codegen

    return intrinsic(view)


_bits: Callable[[float], int] = _view(types.float64, types.int64)
_float: Callable[[int], float] = _view(types.int64, types.float64)

# The library's exp and log are calls, which prevent LLVM from vectorising a loop. These are
# branch-free arithmetic, exact to a few units in the last place on the stated range; the
# polynomials are Chebyshev fits to exp(r) on abs(r) <= log(2) / 2 and to 2 atanh(s) / s.

_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding and subtracting it rounds to whole numbers
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # its low 32 bits are zero, so k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_LN2 = 0.6931471805599453
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_ONE_BITS = 0x3FF0000000000000
_MANTISSA = 0x000FFFFFFFFFFFFF


@inline
def exp(x: float) -> float:
    """e**x for x up to 709, and 0 to within 1e-307 below -708."""
    x = max(x, -708.0)
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 2.5110049204818658e-08
    p = p * r + 2.763265472252779e-07
    p = p * r + 2.755724088722987e-06
    p = p * r + 2.4801485441561313e-05
    p = p * r + 0.00019841269890076403
    p = p * r + 0.0013888888952352863
    p = p * r + 0.008333333333319589
    p = p * r + 0.04166666666648795
    p = p * r + 0.1666666666666668
    p = p * r + 0.5000000000000019
    p = p * r + 1.0
    p = p * r + 1.0
    power = _float((_bits(shifted) + 1023) << 52)  # 2**k
    return p * power


@inline
def _atanh_series(s: float) -> float:
    """2 * atanh(s) for abs(s) <= 0.172, the reduced argument of a logarithm."""
    z = s * s
    p = 0.14616585424934123
    p = p * z + 0.1533171061820642
    p = p * z + 0.18182889455675105
    p = p * z + 0.22222211130259875
    p = p * z + 0.2857142862600327
    p = p * z + 0.39999999999899444
    p = p * z + 0.666666666666667
    return 2.0 * s + s * z * p


@inline
def log(y: float) -> float:
    """Natural logarithm of a positive, normal number."""
    u = _bits(y) + (_ONE_BITS - _SQRT_HALF_BITS)
    k = (u >> 52) - 1023
    m = _float((u & _MANTISSA) + _SQRT_HALF_BITS)  # y = m * 2**k with m in [sqrt(1/2), sqrt(2))
    not_finite = y - y  # zero, or NaN where the bits of y are not those of a number
    return _atanh_series((m - 1.0) / (m + 1.0)) + k * _LN2 + not_finite


@inline
def softplus(z: float) -> tuple[float, float]:
    """log(1 + e**z), and its derivative, the logistic function; both to full relative precision."""
    e = exp(-abs(z))
    y = 1.0 + e
    upper = e > 0.4142135623730951
    half = 0.5 if upper else 1.0  # y = m / half with m in [1, sqrt(2)] or [sqrt(1/2), 1]
    numerator = e * half - (0.5 if upper else 0.0)  # m - 1
    denominator = e * half + (1.5 if upper else 2.0)  # m + 1
    inverse = 1.0 / (y * denominator)  # one division serves the logarithm and the slope
    logarithm = _atanh_series(numerator * y * inverse) + (_LN2 if upper else 0.0)
    positive = denominator * inverse
    return max(z, 0.0) + logarithm, positive * (1.0 if z >= 0.0 else e)
