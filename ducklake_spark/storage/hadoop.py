"""Paths as Spark's side of the house spells them."""

from __future__ import annotations

import re

from ducklake_spark.spec.paths import is_remote, local_path

_SCHEMES = {"s3": "s3a", "s3n": "s3a", "gcs": "gs", "az": "abfss"}
# What a Java URI may not hold as it is; anything beyond ASCII stays.
_ILLEGAL = re.compile(r"[\x00-\x20\x7f\"#%<>?\[\\\]^`{|}]")


def hadoop_path(path: str) -> str:
    """A path for Spark: s3:// is Hadoop's s3a://, and no scheme is whatever a cluster is set to."""
    if not is_remote(path):
        return f"file:{local_path(path)}"
    scheme, _, rest = path.partition("://")
    return f"{_SCHEMES.get(scheme.lower(), scheme.lower())}://{rest}"


def hadoop_uri(path: str) -> str:
    """The path as `_metadata.file_path` shows it."""
    return hadoop_path(_ILLEGAL.sub(lambda match: f"%{ord(match.group()):02X}", path))
