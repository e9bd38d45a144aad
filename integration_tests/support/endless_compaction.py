"""A process that compacts a lake and never commits: endless_compaction.py COMPACTION CATALOG."""

from __future__ import annotations

import sys
import threading
from typing import Any

from ducklake_spark.catalog import Catalog
from ducklake_spark.maintain import flush, merge, rewrite
from ducklake_spark.session import Session
from support.compactions import COMPACTIONS
from support.sparks import settings


def main(operation: str, address: str) -> None:
    for module in (flush, merge, rewrite):
        module.commit = _never  # type: ignore[attr-defined]
    with Session.open(settings("classic")) as session, Catalog.open(address) as catalog:
        COMPACTIONS[operation](catalog, session)


def _never(*_: Any) -> None:
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
