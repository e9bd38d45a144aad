"""The versions of the DuckLake format that are read, and the one that is written.

All code that depends on the version asks a `Format`; no other module compares version numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ducklake_spark.errors import CatalogVersionError, UnwritableVersionError

# The leading columns of a table of inlined rows, which every version has in this order.
INLINED_COLUMNS = ("row_id", "begin_snapshot", "end_snapshot")
_PREFIXED_COLUMNS = tuple(f"_ducklake_{name}" for name in INLINED_COLUMNS)

_VERSION = re.compile(r"(\d+)\.(\d+)(-.*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Format:
    """A version of the DuckLake format and how it differs from the others."""

    version: str
    is_writable: bool = False
    inlined_columns: tuple[str, ...] = INLINED_COLUMNS
    # Columns of schemas inside schemas, of truncated bounds, and the table of their comments.
    has_nested_schemas: bool = False
    has_truncated_bounds: bool = False
    has_view_columns: bool = False
    has_epoch_transforms: bool = False

    def check_writable(self, lake: str) -> None:
        """Raise UnwritableVersionError if lakes of this version are read only."""
        if not self.is_writable:
            raise UnwritableVersionError(
                f"The lake {lake} has DuckLake version {self.version}. dbt-ducklake reads this "
                f"version and writes version {WRITTEN.version}. Nothing was changed.",
                hint="Write to a lake of version 1.0. dbt-ducklake creates one, and so does "
                "DuckDB 2 with ATTACH 'ducklake:…' AS lake (DUCKLAKE_VERSION '1.0').",
            )


WRITTEN = Format("1.0", is_writable=True)
_READ = {
    known.version: known
    for known in (
        WRITTEN,
        Format(
            "1.1",
            inlined_columns=_PREFIXED_COLUMNS,
            has_nested_schemas=True,
            has_truncated_bounds=True,
            has_view_columns=True,
            has_epoch_transforms=True,
        ),
    )
}


def format_of(version: str | None, lake: str) -> Format:
    """Return the format of a version; raise CatalogVersionError if it cannot be read."""
    found = _READ.get(version or "")
    if found is None:
        known = " and ".join(_READ)
        raise CatalogVersionError(
            f"The catalog {lake} has DuckLake version {version!r}. dbt-ducklake reads versions "
            f"{known}.",
            hint=_way_out(version),
        )
    return found


def _way_out(version: str | None) -> str:
    match = _VERSION.fullmatch(version or "")
    if match is None:
        return "Set the value of version in the catalog's table ducklake_metadata, or restore it."
    if int(match[1]) < 1:
        return "Attach it once in DuckDB 1.5 with AUTOMATIC_MIGRATION, which makes it version 1.0."
    return "Upgrade dbt-ducklake, or copy the tables with DuckDB to a lake of version 1.0."
