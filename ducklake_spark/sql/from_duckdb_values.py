"""Translates values of a query that DuckDB wrote: literals, casts and the functions of values."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import UnsupportedError

_BINARY = (exp.DType.VARBINARY, exp.DType.BINARY)
_BLOB_PART = re.compile(r"\\x([0-9A-Fa-f]{2})|([^\\\x80-\U0010ffff])", re.DOTALL)


def no_form(what: str) -> UnsupportedError:
    """Return the error for a construct that cannot be translated with certainty."""
    return UnsupportedError(f"Spark has no {what}, or means something else by it")


def translate_blobs(tree: exp.Expr) -> None:
    r"""Replace `CAST('\xAB' AS BLOB)` with `X'AB'`: only DuckDB reads the escapes."""
    for cast in list(tree.find_all(exp.Cast)):
        if cast.to.this not in _BINARY:
            continue
        if not cast.this.is_string:
            raise no_form(
                f"{cast.sql(dialect='duckdb')}, a cast to BLOB of another value than text"
            )
        cast.replace(exp.HexString(this=_bytes_of(cast.this.name).hex().upper()))


def _bytes_of(text: str) -> bytes:
    r"""Return the bytes that DuckDB reads in a text: `\x` and two digits, or ASCII."""
    found, at = bytearray(), 0
    while at < len(text):
        part = _BLOB_PART.match(text, at)
        if part is None:
            raise UnsupportedError(f"{text!r} is not a BLOB: DuckDB writes \\xAB for the byte AB")
        found += bytes.fromhex(part[1]) if part[1] else part[2].encode()
        at = part.end()
    return bytes(found)
