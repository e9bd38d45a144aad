"""Forgets old snapshots, so that what only they could see can be deleted."""

from __future__ import annotations

import datetime

from ducklake_spark.catalog import Catalog
from ducklake_spark.errors import ConfigError, NotFoundError, RefusedError
from ducklake_spark.maintain.information import SnapshotRow
from ducklake_spark.maintain.settings import set_age
from ducklake_spark.spec.model import Commit
from ducklake_spark.spec.moments import Moment, moment_of, utc_now


def expire_snapshots(
    catalog: Catalog,
    *,
    versions: list[int] | None = None,
    older_than: Moment | None = None,
    dry_run: bool = False,
) -> list[SnapshotRow]:
    """Forget snapshots by their ids, or those made before a time; the newest one always stays.

    Without either the option `expire_older_than` says how old; without that it is refused.
    """
    *history, newest = catalog.commits()
    if versions is not None and older_than is not None:
        raise ConfigError("Snapshots are expired by versions or by older_than, not by both.")
    if versions is not None:
        expired = _named(versions, history, newest)
    else:
        limit = _limit(catalog, older_than)
        expired = [commit for commit in history if commit.snapshot.time < limit]
    if expired and not dry_run:
        catalog.expire([commit.snapshot.id for commit in expired])
    return [SnapshotRow.of(commit) for commit in expired]


def _limit(catalog: Catalog, older_than: Moment | None) -> datetime.datetime:
    chosen = set_age(catalog, "expire_older_than") if older_than is None else older_than
    if chosen is None:
        raise RefusedError(
            "Nothing says which snapshots may go, and without a limit that would be all but one.",
            hint="Give older_than, such as '7 days', or versions, or set the option "
            "expire_older_than.",
        )
    return moment_of(chosen, now=utc_now())


def _named(versions: list[int], history: list[Commit], newest: Commit) -> list[Commit]:
    known = {commit.snapshot.id: commit for commit in history}
    if newest.snapshot.id in versions:
        raise RefusedError(
            f"Snapshot {newest.snapshot.id} is the newest one, which is the lake as it is.",
            hint="Only older ones can be expired.",
        )
    for version in versions:
        if version not in known:
            raise NotFoundError(f"Snapshot {version}")
    return [known[version] for version in sorted(set(versions))]
