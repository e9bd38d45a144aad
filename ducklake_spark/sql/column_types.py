"""What type the parts of a query have: without it nobody knows what `a[i]` or `a || b` mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import TypeAnnotator
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from ducklake_spark.spec.names import fold

# The columns of a relation and their types in Spark's words, if the relation is known.
Columns: TypeAlias = Callable[[Sequence[str]], Mapping[str, str] | None]
Types: TypeAlias = Mapping[str, exp.DataType]

_KINDS: dict[str, set[exp.DType]] = {
    "text": set(exp.DataType.TEXT_TYPES),
    "whole": set(exp.DataType.INTEGER_TYPES),
    "decimal": {exp.DType.DECIMAL},
    "fraction": {exp.DType.DOUBLE, exp.DType.FLOAT},
    "boolean": {exp.DType.BOOLEAN},
    "date": {exp.DType.DATE},
    "timestamp": {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ},
    "naive": {exp.DType.TIMESTAMPNTZ},
    "binary": {exp.DType.BINARY, exp.DType.VARBINARY},
    "list": {exp.DType.ARRAY, exp.DType.LIST},
    "map": {exp.DType.MAP},
    "struct": {exp.DType.STRUCT},
    "interval": {exp.DType.INTERVAL},
    "null": {exp.DType.NULL, exp.DType.UNKNOWN},
}
_KIND_OF = {kind: name for name, kinds in _KINDS.items() for kind in kinds}
# Where sqlglot says nothing, or another thing than Spark.
_MADE: dict[type[exp.Expr], str] = {
    exp.ArrayAppend: "list", exp.ArrayDistinct: "list", exp.ArrayPosition: "whole",
    exp.ArrayPrepend: "list", exp.ArrayRemove: "list", exp.ArrayUniqueAgg: "list",
    exp.AtTimeZone: "timestamp", exp.DateTrunc: "date", exp.Flatten: "list",
    exp.FromTimeZone: "timestamp", exp.Left: "text", exp.MapContainsKey: "boolean",
    exp.MapFromEntries: "map", exp.MapKeys: "list", exp.Median: "fraction", exp.ParseUrl: "text",
    exp.Quantile: "fraction", exp.RegexpCount: "whole", exp.RegexpExtractAll: "list",
    exp.Right: "text", exp.Sign: "fraction", exp.SplitPart: "text", exp.Substring: "text",
    exp.TimestampFromParts: "timestamp", exp.TimestampTrunc: "timestamp", exp.Transform: "list",
}  # fmt: skip
_CALLED = {"map_entries": "list", "map_values": "list"}
_LIKE_WHAT_IT_TAKES = (exp.ArgMax, exp.ArgMin, exp.Mode, exp.Round)
_EXAMPLES = {"text": "string", "whole": "bigint", "fraction": "double", "boolean": "boolean",
             "date": "date", "timestamp": "timestamp", "naive": "timestamp_ntz",
             "binary": "binary", "list": "array", "map": "map"}  # fmt: skip
KIND = "kind"


def kind_of(value: exp.Expr) -> str | None:
    """One word for the type of a value; None if it is not known for sure."""
    while KIND not in value.meta and isinstance(value, exp.Paren):
        value = value.this
    if KIND in value.meta:
        noted: str | None = value.meta[KIND]
        return noted
    if isinstance(value, exp.Null):
        return "null"
    if type(value) in _MADE:
        return _MADE[type(value)]
    if isinstance(value, _LIKE_WHAT_IT_TAKES):
        return kind_of(value.this)
    if isinstance(value, exp.Anonymous):
        return _CALLED.get(value.name.lower())
    if isinstance(value, exp.Bracket) and value.this.type is not None:
        inner = value.this.type.expressions  # of a list its values, of a map keys and values
        return (
            _kind_of_type(inner[-1]) if inner and kind_of(value.this) in ("list", "map") else None
        )
    special = _kind_of_number(value)
    return special if special != "" else _kind_of_type(value.type)


def _kind_of_number(value: exp.Expr) -> str | None:
    """That of sums, quotients and the like; an empty text if sqlglot says it right."""
    match value:
        case exp.Ceil() | exp.Floor() if value.args.get("decimals") is None:
            of = kind_of(value.this)
            return of if of == "decimal" else "whole" if of in ("whole", "fraction") else None
        case exp.Window() | exp.Filter() | exp.Avg():
            of = kind_of(value.this)
            is_average = isinstance(value, exp.Avg)
            return "fraction" if is_average and of in ("whole", "fraction") else of
        case exp.Extract() if value.this.name.upper() in ("SECOND", "SECONDS"):
            return "decimal"
        case exp.Sub() | exp.Add() | exp.Mul() | exp.DPipe():
            kinds = {kind_of(value.this), kind_of(value.expression)}
            if isinstance(value, exp.DPipe):
                return "list" if "list" in kinds else "binary" if kinds == {"binary"} else "text"
            if isinstance(value, exp.Sub) and kinds <= {"date", "timestamp", "naive"}:
                return "interval"
            return "fraction" if "fraction" in kinds else ""
    return ""


def _kind_of_type(kind: exp.DataType | None) -> str | None:
    if kind is None:
        return None
    if isinstance(kind.this, exp.Interval):
        return "interval"
    found = _KIND_OF.get(kind.this)
    return found if found != "null" else None


def _type_for(value: exp.Expr) -> exp.DataType | None:
    """The type that others see in a column of these values."""
    kind = kind_of(value)
    if kind is None or _kind_of_type(value.type) == kind:
        return value.type if kind is not None else None
    return exp.DataType.build(_EXAMPLES[kind], dialect="spark") if kind in _EXAMPLES else None


def note_types(tree: exp.Expr, columns: Columns | None, known: Mapping[str, str]) -> None:
    """Write down the types of all parts of a query, or of an expression over `known` names."""
    for literal in tree.find_all(exp.Literal):
        if not literal.is_string and "." in literal.name and "e" not in literal.name.lower():
            literal.type = exp.DataType.build("decimal")
    names = _built(known)
    for column in tree.find_all(exp.Column) if known else ():
        if not column.table and fold(column.name) in names:
            column.type = names[fold(column.name)].copy()
    annotator = TypeAnnotator(MappingSchema(dialect="spark"), overwrite_types=False)
    for scope in traverse_scope(tree):
        for column in scope.columns:
            found = _type_of(column, scope, columns)
            if found is not None and column.type is None:
                column.type = found.copy()
        for cast in reversed(list(scope.find_all(exp.Cast))):
            annotator.annotate_expression(cast.this, scope)  # it looks at no part of a cast
        annotator.annotate_scope(scope)
    for cast in reversed(list(tree.find_all(exp.Cast))):
        annotator.annotate_expression(cast.this)
    annotator.annotate_expression(tree)


def _type_of(
    column: exp.Column, scope: Scope | None, columns: Columns | None
) -> exp.DataType | None:
    """The type of a column, or of the field of one: `t.a` may be either."""
    name, qualifier = fold(column.name), fold(column.table)
    while scope is not None:
        tables = {fold(str(key)): source for key, source in scope.sources.items()}
        if qualifier and qualifier in tables:
            return _types_in(tables[qualifier], columns).get(name)
        for source in tables.values():
            types = _types_in(source, columns)
            if not qualifier and name in types:
                return types[name]
            if qualifier in types:
                return _field(types[qualifier], name)
        scope = scope.parent
    return None


def _field(struct: exp.DataType, name: str) -> exp.DataType | None:
    for field in struct.expressions if struct.this == exp.DType.STRUCT else ():
        if fold(field.name) == name and isinstance(field.args.get("kind"), exp.DataType):
            kind: exp.DataType = field.args["kind"]
            return kind
    return None


def _types_in(source: exp.Expr | Scope, columns: Columns | None) -> Types:
    """The columns of what a query reads from."""
    if isinstance(source, Scope):
        return _types_of_query(source.expression, source, columns)
    if not isinstance(source, exp.Table) or source.args.get("pivots"):
        return {}
    if source.args.get("version") or source.args.get("when"):
        return {}  # they may have had other types then
    if isinstance(source.this, exp.Func):  # range(…)
        return {"id": exp.DataType.build("bigint")} if source.name.lower() == "range" else {}
    found = _built((columns and columns([part.name for part in source.parts])) or {})
    return _renamed(source, list(found), list(found.values()))


def _types_of_query(query: exp.Expr, scope: Scope, columns: Columns | None) -> Types:
    holder = query.parent if isinstance(query.parent, exp.Subquery | exp.CTE) else query
    if holder.args.get("pivots"):
        return {}
    match query:
        case exp.SetOperation():
            sides = [
                _types_of_query(side.unnest(), scope, columns)
                for side in (query.this, query.expression)
            ]
            pairs = zip(sides[0].items(), sides[1].values(), strict=False)
            return {name: kind for (name, kind), other in pairs if kind == other}
        case exp.Values():
            rows = [list(row.expressions) for row in query.expressions]
            kinds = [_common(list(values)) for values in zip(*rows, strict=False)]
            return _renamed(query, [f"col{at}" for at in range(1, len(kinds) + 1)], kinds)
        case exp.Lateral() if isinstance(query.this, exp.Explode):
            listed = query.this.this.type
            inner = (
                listed.expressions
                if listed is not None and kind_of(query.this.this) == "list"
                else []
            )
            return _renamed(query, ["col"], list(inner[:1]))
        case exp.Select():
            names, kinds = _selected(query, scope, columns)
            return _renamed(holder, names, kinds)
    return {}


def _selected(
    query: exp.Select, scope: Scope, columns: Columns | None
) -> tuple[list[str], list[exp.DataType | None]]:
    names: list[str] = []
    kinds: list[exp.DataType | None] = []
    for value in query.selects:
        if value.is_star:
            inner = scope if scope.expression is query else None
            for source in inner.sources.values() if inner is not None else ():
                types = _types_in(source, columns)
                names += types
                kinds += types.values()
        else:
            names.append(fold(value.alias_or_name))
            kinds.append(_type_for(value))
    return names, kinds


def _common(values: list[exp.Expr]) -> exp.DataType | None:
    kinds = [_type_for(value) for value in values if kind_of(value) != "null"]
    return kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else None


def _renamed(source: exp.Expr, names: Sequence[str], kinds: Sequence[exp.DataType | None]) -> Types:
    alias = source.args.get("alias")
    given = [
        fold(name.name)
        for name in (alias.args.get("columns") or [] if isinstance(alias, exp.TableAlias) else [])
    ]
    pairs = zip(given or names, kinds, strict=False)
    return {name: kind for name, kind in pairs if kind is not None}


def _built(types: Mapping[str, str]) -> dict[str, exp.DataType]:
    built = {}
    for name, text in types.items():
        try:
            built[fold(name)] = exp.DataType.build(text, dialect="spark")
        except SqlglotError:
            continue  # a type that Spark has no word for, such as void
    return built
