"""Keeps columns written as `schema.table.column` right where a view of Spark stands for a table.

Such a view has one name, so the columns go by an alias: the table's own name, as Spark has it,
unless something else in the statement goes by that name as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ducklake_spark.spec.names import fold
from ducklake_spark.sql.references import Named, Reference
from ducklake_spark.sql.splice import Edit
from ducklake_spark.sql.tokens import Token, quoted
from ducklake_spark.sql.workspace import Relation


def alias_edits(
    tokens: Sequence[Token],
    named: Named,
    shown: Sequence[tuple[Reference, Relation | None]],
    outside: Mapping[Relation, str],
) -> list[Edit]:
    """Aliases for what is `shown`, and the columns that are qualified by them.

    `outside` gives the names of relations outside the text whose columns it may hold.
    """
    edits: list[Edit] = []
    renamed: dict[tuple[str, ...], str] = {}
    for outer, its_alias in outside.items():
        renamed |= dict.fromkeys(_qualified(outer), quoted(its_alias))
    for reference, relation in shown:
        if reference.has_alias or reference.bare:
            continue
        alias = quoted(reference.parts[-1])
        chains = list(_qualified(relation)) if relation else []
        if relation and _is_taken(reference, relation, named, shown):
            own = quoted(".".join(reference.parts))
            if _columns(tokens, dict.fromkeys(chains, own), named.references):
                alias = own
        renamed |= dict.fromkeys(chains, alias)
        edits.append(Edit(reference.alias_at, reference.alias_at, f" AS {alias}"))
    return edits + _columns(tokens, renamed, named.references)


def without_lake(tokens: Sequence[Token], lake: str, references: Sequence[Reference]) -> list[Edit]:
    """Columns written as lake.schema.table.column, without the lake."""
    taken = {reference.start for reference in references}
    return [
        Edit(token.start, tokens[at + 2].start, "")
        for at, token in enumerate(tokens[:-6])
        if fold(token.text) == fold(lake)
        and token.is_name
        and token.start not in taken
        and not (at and tokens[at - 1].word == ".")
        and all(tokens[at + dot].word == "." for dot in (1, 3, 5))
    ]


def _is_taken(
    reference: Reference,
    relation: Relation,
    named: Named,
    shown: Sequence[tuple[Reference, Relation | None]],
) -> bool:
    """Whether something else in the statement goes by the name of the relation."""
    name = fold(reference.parts[-1])
    same = {other.start for other, its in shown if its == relation}
    return name in named.aliases or any(
        fold(other.parts[-1]) == name and not other.has_alias and other.start not in same
        for other in named.references
    )


def _qualified(relation: Relation) -> Iterator[tuple[str, ...]]:
    """The names, in lower case, by which Spark would know the columns' table."""
    name = relation.name
    full = (relation.lake.lower(), name.schema.lower(), name.name.lower())
    yield full
    yield full[1:]


def _columns(
    tokens: Sequence[Token],
    renamed: Mapping[tuple[str, ...], str],
    references: Sequence[Reference],
) -> list[Edit]:
    """Columns written as schema.table.column, by the alias that stands for schema.table now."""
    taken = {reference.start for reference in references}
    edits = []
    for at, token in enumerate(tokens):
        if token.start in taken or (at and tokens[at - 1].word == "."):
            continue
        for parts, alias in renamed.items():
            last = at + 2 * (len(parts) - 1)
            chain = tokens[at : last + 1 : 2]
            dots = tokens[at + 1 : last + 2 : 2]
            if (
                tuple(part.text.lower() for part in chain) == parts
                and len(dots) == len(parts)
                and all(dot.word == "." for dot in dots)
                and all(part.is_name for part in chain)
            ):
                edits.append(Edit(token.start, tokens[last].end, alias))
                break
    return edits
