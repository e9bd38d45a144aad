"""How relations are written into SQL."""

from __future__ import annotations

from dbt.adapters.ducklake.relation import DuckLakeRelation

RELATION = DuckLakeRelation.create(database="lake", schema="main", identifier="v`w")


def test_a_relation_has_three_quoted_parts() -> None:
    assert RELATION.render() == "`lake`.`main`.`v``w`"
    assert RELATION.without_identifier().render() == "`lake`.`main`"


def test_a_relation_without_a_schema_has_one_part() -> None:
    """Packages clear the schema for temporary views, which exist in no lake."""
    assert RELATION.incorporate(path={"schema": None}).render() == "`v``w`"


def test_a_database_alone_is_rendered() -> None:
    assert DuckLakeRelation.create(database="lake").render() == "`lake`"
