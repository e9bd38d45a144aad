"""The documentation's roles in PostgreSQL: a writer writes, a reader reads, and no more."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from ducklake_spark.catalog import Catalog, Field
from ducklake_spark.errors import CatalogAccessError
from support.examples import examples
from support.lakes import LakeAddress

FIELDS = [Field("id", "int64")]


@pytest.fixture
def address(make_lake: Callable[[str], LakeAddress]) -> LakeAddress:
    """A lake that its owner has made, with the grants of the documentation."""
    lake = make_lake("postgres")
    with lake.open() as catalog, catalog.transaction() as tx:
        tx.create_table("orders", FIELDS)
    return lake


@pytest.fixture
def roles(address: LakeAddress) -> Iterator[dict[str, str]]:
    """The catalog's address for a writer and for a reader."""
    conninfo = address.catalog.removeprefix("postgres:")
    (grants,) = [example.text for example in examples() if example.title == "roles.sql"]
    suffix = uuid.uuid4().hex[:8]
    names = {kind: f"lake_{kind}_{suffix}" for kind in ("writer", "reader")}
    for kind, name in names.items():
        grants = grants.replace(f"lake_{kind}", name)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(grants.encode())
        for name in names.values():
            connection.execute(sql.SQL("ALTER ROLE {} LOGIN").format(sql.Identifier(name)))
        yield {k: f"postgres:{make_conninfo(conninfo, user=n)}" for k, n in names.items()}
        for name in names.values():
            role = sql.Identifier(name)
            connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


def test_a_writer_changes_the_lake(roles: dict[str, str]) -> None:
    with Catalog.open(roles["writer"], create=False) as catalog:
        with catalog.transaction() as tx:
            tx.create_table("customers", FIELDS)
            tx.drop_table("orders")
        assert [table.name.name for table in catalog.at().tables("main")] == ["customers"]


def test_a_reader_reads_and_cannot_write(roles: dict[str, str]) -> None:
    with Catalog.open(roles["reader"], read_only=True) as catalog:
        assert [table.name.name for table in catalog.at().tables("main")] == ["orders"]
    with Catalog.open(roles["reader"], create=False) as catalog:
        with pytest.raises(CatalogAccessError), catalog.transaction() as tx:
            tx.create_table("mine", FIELDS)
        assert [table.name.name for table in catalog.at().tables("main")] == ["orders"]
