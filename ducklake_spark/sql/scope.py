"""One statement's view of the lakes: names become views of Spark, each lake at one snapshot.

A view's name tells what it shows, such as `lake.main.orders @7`, for Spark's messages quote it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ducklake_spark.catalog import LakeReader, find_schema
from ducklake_spark.errors import (
    NotFoundError,
    QueryError,
    StatementError,
    UnsupportedFeatureError,
    UntrustedSqlError,
)
from ducklake_spark.scan import read_table
from ducklake_spark.spec.catalog_sql import canonical
from ducklake_spark.spec.model import Macro, Table, View
from ducklake_spark.spec.names import QualifiedName, fold
from ducklake_spark.spec.predicates import Predicate
from ducklake_spark.sql.calls import calls_without_lake, find_calls
from ducklake_spark.sql.conditions import Condition, predicate_of
from ducklake_spark.sql.failures import SPARK_ERRORS, query_error
from ducklake_spark.sql.known_columns import columns_for
from ducklake_spark.sql.pruning import demands_of
from ducklake_spark.sql.qualifiers import alias_edits, without_lake
from ducklake_spark.sql.reading import Reading
from ducklake_spark.sql.references import Reference, Travel, find_references
from ducklake_spark.sql.splice import Edit, Spliced, spliced
from ducklake_spark.sql.tokens import Cursor, quoted
from ducklake_spark.sql.trust import (
    check_calls_of,
    check_definition,
    check_file,
    check_new_query,
    check_query,
    within_parentheses,
)
from ducklake_spark.sql.views import SPARK_TEXT, spark_text
from ducklake_spark.sql.workspace import Relation, Workspace

# Makes the rows of a table function from the text of its arguments.
TableFunction = Callable[["Scope", str, str], DataFrame]
_numbers = count(1)
INFORMATION_SCHEMA = "information_schema"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Scan:
    """A table that a statement reads, for EXPLAIN."""

    relation: str
    snapshot: int
    table: Table
    reader: LakeReader
    predicate: Predicate | None


@dataclass(slots=True)
class Scope:
    """What one statement sees; `statement` is its text."""

    workspace: Workspace
    statement: str = ""
    scans: list[Scan] = field(default_factory=list)
    views: list[str] = field(default_factory=list)
    within: tuple[Relation, ...] = ()
    made: list[str] = field(default_factory=list)
    # Names that are not those of tables or views of a lake: nobody knows what is read by them.
    other_sources: list[str] = field(default_factory=list)
    # Views that were read and that DuckDB cannot run.
    sparks_own: list[Relation] = field(default_factory=list)
    last: Spliced | None = None
    # The columns of relations at a snapshot, for texts of DuckDB whose meaning depends on types.
    shapes: dict[tuple[Relation, int], Mapping[str, str] | None] = field(default_factory=dict)
    _readers: dict[str, LakeReader] = field(default_factory=dict)
    _calling: list[Relation] = field(default_factory=list)
    _defined: dict[str, str] = field(default_factory=dict)
    _reading: Reading | None = None

    # --- queries ---

    def query(self, text: str) -> DataFrame:
        """The rows of a query, which may name relations of lakes."""
        return self.run(self.splice(text))

    def reads_lakes_alone(self, *texts: str) -> bool:
        """Whether what was spliced so far reads nothing but tables and views of lakes.

        Only then does `scans` list all that is read. Views and functions of the Spark session may
        read any table, and ${…} may stand for any name.
        """
        if self.other_sources or any("${" in text for text in texts):
            return False
        names = {fold(t.text) for text in texts for t in Cursor(text).tokens if t.is_name}
        rows = self.workspace.session.spark.sql("SHOW USER FUNCTIONS").toArrow()["function"]
        own = {fold(Cursor(name).tokens[-1].text) for name in rows.to_pylist()}
        return names.isdisjoint(own - {fold(name) for name in self.made})

    def define(self, name: str, query: str) -> None:
        """Let a name stand for a query in the rest of the statement."""
        self._defined[fold(name)] = self.show(self.query(query), name, None)

    def run(self, query: Spliced) -> DataFrame:
        self.last = query
        try:
            return self.workspace.session.spark.sql(query.text)
        except SPARK_ERRORS as error:
            raise self._explained(error, query) from error

    def _explained(self, error: Exception, query: Spliced) -> Exception:
        """Spark's error in the user's terms; a relation that is nowhere is ours to report."""
        if (
            isinstance(error, PySparkException)
            and error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
        ):
            named = (error.getMessageParameters() or {}).get("relationName", "")
            parts = [part.text for part in Cursor(named).tokens if part.is_name]
            for candidate in self.workspace.candidates(parts)[:1]:
                return self._missing(candidate)
        return query_error(error, query, self.statement)

    def _missing(self, relation: Relation, travel: Travel | None = None) -> Exception:
        try:
            reader = self._at(relation.lake, travel)
            if self._find(reader, relation) is not None:
                return QueryError(
                    f"{relation} is named where the names of a lake are not seen: in a command "
                    "for Spark's own tables, EXECUTE IMMEDIATE, a script of BEGIN … END, or "
                    "IDENTIFIER(…) of an expression.",
                    hint="Name it in a statement of its own, or in IDENTIFIER('…') with the whole "
                    "name. Tables of a lake need no ANALYZE, CACHE or REFRESH.",
                )
            near = [e.name.name for e in reader.tables(relation.name.schema)]
            near += [view.name.name for view in reader.views(relation.name.schema)]
        except NotFoundError as error:
            return error
        then = f" of snapshot {reader.snapshot.id}" if travel else ""
        return NotFoundError(
            f"Table or view {relation}{then}", near=near, wanted=relation.name.name
        )

    def close(self) -> None:
        """Drop the views and functions of the statement.

        Classic Spark has looked through them by now. Spark Connect does that anew each time a
        DataFrame is asked for something, so there they stay as long as the session.
        """
        session = self.workspace.session
        if not (session.is_connect or session.has_ended):
            for view in self.views:
                session.spark.catalog.dropTempView(view)
            self.views.clear()
            for function in self.made:
                session.spark.sql(f"DROP TEMPORARY FUNCTION {quoted(function)}")
            self.made.clear()

    # --- names ---

    def splice(
        self,
        text: str,
        outer: Condition | None = None,
        home: Relation | None = None,
        aliases: Mapping[Relation, str] | None = None,
    ) -> Spliced:
        """The text with views of Spark in the place of the lakes' relations.

        `home` is the view whose text it is: there unqualified names lead to its own schema.
        `aliases` gives the names under which columns of relations outside the text are known.
        """
        home = home or self._home
        cursor = Cursor(text)
        named = find_references(Cursor(text, cursor.tokens), strict=home is not None)
        pruning = self.workspace.pruning and named.references
        demands = demands_of(text, outer) if pruning else {}
        edits: list[Edit] = []
        shown: list[tuple[Reference, Relation | None]] = []
        for reference in named.references:
            if edits and reference.start < edits[-1].end:
                continue  # an argument of a function that was replaced with all it holds
            found = self._view_for(reference, demands.get(reference.last), home)
            if found is None or reference.arguments is not None:
                self.other_sources.append(".".join(reference.parts))
            if found is not None:
                view, relation = found
                edits.append(Edit(reference.start, reference.end, quoted(view)))
                shown.append((reference, relation))
            elif home is not None and reference.arguments is None:
                self._check_other(reference, home)
        edits += self._functions_in(cursor, edits, home)
        if home is not None:
            read = [relation for _, relation in shown if relation is not None]
            check_query(
                cursor, named, edits, f"The view {home}", lambda: self._columns_of_all(read)
            )
        edits += alias_edits(cursor.tokens, named, shown, aliases or {})
        return spliced(text, edits)

    @property
    def _home(self) -> Relation | None:
        """The view whose text this scope reads."""
        return self.within[-1] if self.within else None

    def _functions_in(
        self, cursor: Cursor, taken: Sequence[Edit], home: Relation | None = None
    ) -> list[Edit]:
        """Functions of Spark in the place of those of lakes."""
        edits = []
        for call in find_calls(cursor.tokens):
            if not any(edit.start <= call.start < edit.end for edit in taken):
                name = self._function(call.parts, home)
                edits += [Edit(call.start, call.end, quoted(name))] if name else []
        return edits

    def _function(self, parts: tuple[str, ...], home: Relation | None) -> str | None:
        """The function of Spark for that of a lake; None if a name is not that of one."""
        found = self._macro(parts, home)
        if found is None:
            return None
        to, macro = found
        if SPARK_TEXT not in macro.tags:
            raise UnsupportedFeatureError(
                f"The macro {to} was written for DuckDB and says nothing of types, so Spark cannot "
                "call it.",
                hint="Write it again with CREATE OR REPLACE FUNCTION here.",
            )
        return self.function(macro.tags[SPARK_TEXT], to)

    def _macro(
        self, parts: tuple[str, ...], home: Relation | None
    ) -> tuple[Relation, Macro] | None:
        """Find the function of a lake that is called by a name; None if it cannot be one."""
        lake = self.workspace.lake_named(parts[0]) if len(parts) == 3 else None
        if len(parts) == 2 and home is not None:
            lake = home.lake
        if lake is None:
            return None
        to = Relation(lake, QualifiedName(*parts[-2:]))
        reader = self.reader(lake)
        if len(parts) == 2 and find_schema(reader, to.name.schema) is None:
            return None
        known = reader.macros(to.name.schema)
        macro = next((m for m in known if m.name.folded == to.name.folded), None)
        if macro is not None:
            return Relation(lake, macro.name), macro
        if len(parts) == 2:
            return None
        near = [other.name.name for other in known]
        raise NotFoundError(f"The function {to}", near=near, wanted=to.name.name)

    def function(self, definition: str, to: Relation) -> str:
        """Make a function of a lake known to Spark; its name there."""
        if to in self._calling:
            raise QueryError(f"The function {to} leads back to itself.", hint="Write it again.")
        self._calling.append(to)
        definition = check_definition(definition, f"The function {to}")
        edits = self._functions_in(Cursor(definition), (), to)
        check_calls_of(definition, edits, f"The function {to}")
        text = spliced(definition, edits).text
        self._calling.pop()
        name = _without_variables(f"{to} #{next(_numbers)}")
        create = f"CREATE TEMPORARY FUNCTION {quoted(name)} "
        self.run(Spliced(definition, create + text, (Edit(0, 0, create),)))
        self.made.append(name)
        return name

    def qualified(self, text: str, to: Relation) -> str:
        """Return the text of a view with its relations by schema and name, as it can be stored."""
        lake = to.lake
        cursor = Cursor(text)
        named = find_references(Cursor(text, cursor.tokens), strict=True)
        edits: list[Edit] = []
        read: list[Relation] = []
        for reference in named.references:
            relation = self._lakes_own(reference)
            if relation is None:
                if reference.arguments is None:
                    self._check_other(reference, to)
            else:
                name = ".".join(map(quoted, (relation.name.schema, relation.name.name)))
                name = name if relation.lake == lake else f"{quoted(relation.lake)}.{name}"
                edits.append(Edit(reference.start, reference.last_end, name))
                read.append(relation)
        check_new_query(
            text,
            f"The view {to}",
            lambda parts: self._is_lakes_function(parts, to),
            lambda: self._columns_of_all(read),
        )
        edits += calls_without_lake(cursor.tokens, lake)
        return spliced(text, edits + without_lake(cursor.tokens, lake, named.references)).text

    def _columns_of_all(self, relations: Sequence[Relation]) -> Iterator[str]:
        """List the columns of relations of lakes."""
        for relation in relations:
            columns = columns_for(self, relation.lake)
            yield from columns((relation.name.schema, relation.name.name)) or ()

    def _is_lakes_function(self, parts: tuple[str, ...], to: Relation) -> bool:
        is_of_rows = len(parts) == 2 and self.workspace.lake_named(parts[0]) is not None
        return is_of_rows or self._macro(parts, to) is not None

    def _check_other(self, reference: Reference, view: Relation) -> None:
        """Raise unless a view of a lake may read a relation that is not one of a lake."""
        if not self.spark_has(reference.parts):
            if len(reference.parts) > 1 and fold(reference.parts[-2]) == INFORMATION_SCHEMA:
                raise UnsupportedFeatureError(
                    f"The view {view} reads {'.'.join(reference.parts)}, which is made when a "
                    "query asks for it.",
                    hint="Read it in a query, such as one that creates a table.",
                )
            check_file(reference, f"The view {view}", self.workspace.lakes[view.lake].area)
            return
        name = ".".join(map(quoted, reference.parts))
        if self.workspace.session.spark.catalog.getTable(name).isTemporary:
            raise UntrustedSqlError(
                f"The view {view} cannot read {name}, which is a view of this session only.",
                hint="Write its query into this one, or create it as a view of the lake.",
            )

    def _lakes_own(self, reference: Reference) -> Relation | None:
        """The relation of a lake that a reference means, if it means one."""
        if reference.arguments is not None:
            return None
        for relation in self.workspace.candidates(reference.parts):
            reader = self._at(relation.lake, reference.travel)
            if self._find(reader, relation) is not None:
                may_be_sparks = len(reference.parts) < 3 and self.spark_has(reference.parts)
                return None if may_be_sparks else relation
        return None

    def _view_for(
        self, reference: Reference, demand: Condition | None, home: Relation | None
    ) -> tuple[str, Relation | None] | None:
        """The view of Spark for a reference, and what it shows; None for a name of Spark's."""
        if reference.arguments is not None:
            view = self._function_view(reference)
            return (view, None) if view is not None else None
        if len(reference.parts) == 1 and (defined := self._defined.get(fold(reference.parts[0]))):
            return defined, None
        for relation in self._candidates(reference, home):
            reader = self._at(relation.lake, reference.travel)
            found = self._find(reader, relation)
            if found is None:
                continue
            may_be_sparks = len(reference.parts) < 3 and home is None
            if may_be_sparks and self.spark_has(reference.parts):
                return None
            return self._relation_view(relation, found, reader, demand), relation
        if home is None and (view := self._information_view(reference)):
            return view, None
        if len(reference.parts) == 3 and (lake := self.workspace.lake_named(reference.parts[0])):
            raise self._missing(
                self.workspace.target((lake, *reference.parts[1:])), reference.travel
            )
        if reference.travel is not None:
            raise self._missing(self.workspace.target(reference.parts), reference.travel)
        return None

    def _information_view(self, reference: Reference) -> str | None:
        """The view of Spark for one of a lake's information schema."""
        parts = reference.parts
        if len(parts) < 2 or fold(parts[-2]) != INFORMATION_SCHEMA:
            return None
        # Here, because that module reads views through this one.
        from ducklake_spark.sql.information_schema import information_view

        for relation in self.workspace.candidates(parts)[:1]:
            if len(parts) == 2 and self.spark_has(parts):
                return None
            frame = information_view(self, relation, self._at(relation.lake, reference.travel))
            if frame is not None:
                self.other_sources.append(".".join(parts))
                return self.show(frame, str(relation), None)
        return None

    def _candidates(self, reference: Reference, home: Relation | None) -> list[Relation]:
        if home is None:
            return self.workspace.candidates(reference.parts)
        inner = self.workspace.candidates(reference.parts, home.name.schema)
        # Text of a view may be of another lake than the one where unqualified names lead.
        local = [Relation(home.lake, r.name) for r in inner if len(reference.parts) < 3]
        return [*local, *inner]

    def _find(self, reader: LakeReader, relation: Relation) -> Table | View | None:
        if find_schema(reader, relation.name.schema) is None:
            return None
        return reader.find_table(relation.name) or reader.find_view(relation.name)

    def knows(self, parts: Sequence[str]) -> bool:
        """Whether a name is that of a relation of a lake."""
        found = self.workspace.candidates(parts)
        return any(self._find(self.reader(r.lake), r) is not None for r in found)

    def spark_has(self, parts: Sequence[str]) -> bool:
        """Whether a name is that of a relation of Spark's own."""
        if len(parts) > 1 and any("`" in part for part in parts):
            return False  # Spark's catalog has no such schemas and fails on their names
        name = ".".join(map(quoted, parts))
        return bool(self.workspace.session.spark.catalog.tableExists(name))

    def spark_has_schema(self, parts: Sequence[str]) -> bool:
        """Whether a name is that of a schema of Spark's own."""
        name = ".".join(map(quoted, parts))
        return bool(self.workspace.session.spark.catalog.databaseExists(name))

    # --- readers ---

    def reader(self, lake: str) -> LakeReader:
        """The lake at the statement's snapshot, or inside the open transaction."""
        if lake not in self._readers:
            self._readers[lake] = self.workspace.reader(lake)
        return self._readers[lake]

    def read_through(self, lake: str, reader: LakeReader) -> None:
        """Let the statement read a lake through its own transaction."""
        self._readers[lake] = reader

    def _at(self, lake: str, travel: Travel | None) -> LakeReader:
        if travel is None:
            return self.reader(lake)
        catalog = self.workspace.lakes[lake]
        if travel.by == "version":
            text = travel.expression.strip("'\"")
            if not text.isdecimal():
                raise StatementError(
                    f"VERSION AS OF takes a snapshot id, and {travel.expression} is none.",
                    hint=f"The ids are in {lake}.snapshots(). For a point in time write "
                    "TIMESTAMP AS OF '…'.",
                )
            return catalog.at(int(text))
        return catalog.at(timestamp=self.moment(travel.expression))

    def moment(self, expression: str) -> datetime.datetime:
        """The point in time that an expression of Spark's names."""
        inner = self.splice(expression)
        around = [
            Edit(0, 0, "SELECT unix_micros(CAST("),
            Edit(len(expression), len(expression), " AS TIMESTAMP)) AS t"),
        ]
        query = spliced(expression, [*around, *inner.edits])
        try:
            found = self.run(query).toArrow()["t"][0].as_py()
        except SPARK_ERRORS as error:
            raise query_error(error, query) from error
        if found is None:
            raise StatementError(f"{expression} names no point in time.")
        # Python may know neither the session's time zone nor its rules.
        return _EPOCH + datetime.timedelta(microseconds=found)

    # --- views of Spark ---

    def _relation_view(
        self, relation: Relation, found: Table | View, reader: LakeReader, demand: Condition | None
    ) -> str:
        if isinstance(found, View):
            return self.show(self.view_rows(relation, found, reader, demand), str(relation), reader)
        predicate = self.predicate(demand, found)
        frame = read_table(self.workspace.session, reader, found, predicate=predicate)
        self.scans.append(Scan(str(relation), reader.snapshot.id, found, reader, predicate))
        return self.show(frame, str(relation), reader)

    def view_rows(
        self, relation: Relation, view: View, reader: LakeReader, demand: Condition | None = None
    ) -> DataFrame:
        """The rows of a view of a lake, at the snapshot of the reader."""
        if relation in self.within:
            raise QueryError(
                f"The view {relation} leads back to itself.",
                hint="One of the names in it was a table once; write it again.",
            )
        within = (*self.within, relation)
        inner = Scope(
            self.workspace,
            self.statement,
            self.scans,
            self.views,
            within,
            self.made,
            self.other_sources,
            self.sparks_own,
        )
        if view.dialect == "spark":
            self.sparks_own.append(relation)
        inner.read_through(relation.lake, reader)
        inner._reading = self.reading
        inner.shapes = self.shapes
        text = canonical(inner.text_of(view, relation), f"The view {relation}")
        query = within_parentheses(
            inner.splice(text, None if view.column_aliases else demand, relation)
        )
        try:
            frame = inner.run(query)
        except QueryError as error:
            theirs = "" if SPARK_TEXT in view.tags else " as it was translated from DuckDB's"
            error.hint = f"This is in the text of the view {relation}{theirs}."
            raise
        return frame.toDF(*view.column_aliases) if view.column_aliases else frame

    def text_of(self, view: View, relation: Relation) -> str:
        """Return the text of a view in Spark's words."""
        columns = columns_for(self, relation.lake, relation.name.schema)
        return spark_text(view, relation.lake, columns)

    def _function_view(self, reference: Reference) -> str | None:
        *qualifiers, name = reference.parts
        lake = self.workspace.lake_named(qualifiers[0]) if len(qualifiers) == 1 else None
        if lake is None:
            return None
        # Here, for it leads to all of maintenance, which other statements need not wait for.
        from ducklake_spark.sql.functions import FUNCTIONS

        function = FUNCTIONS.get(name.lower())
        if function is None:
            raise NotFoundError(f"The table function {lake}.{name}", near=FUNCTIONS, wanted=name)
        frame = function(self, lake, reference.arguments or "")
        return self.show(frame, f"{lake}.{name}", None)

    def show(self, frame: DataFrame, name: str, reader: LakeReader | None) -> str:
        """Make rows known to Spark as a view, by a name that says what it shows."""
        at = f" @{reader.snapshot.id}" if reader is not None else ""
        view = _without_variables(f"{name}{at} #{next(_numbers)}")
        frame.createOrReplaceTempView(quoted(view))
        self.views.append(view)
        return view

    # --- settings ---

    @property
    def reading(self) -> Reading:
        if self._reading is None:
            self._reading = Reading(self.workspace.session)
        return self._reading

    def predicate(self, demand: Condition | None, table: Table) -> Predicate | None:
        """Return what the statistics of a table's files can be asked about; None if nothing."""
        if demand is None or not self.prunes:
            return None
        return predicate_of(demand, table, self.time_zone())

    @property
    def prunes(self) -> bool:
        """Whether files may be left unread; names and literals must mean what pruning knows."""
        return self.workspace.pruning and self.reading.is_known

    def time_zone(self) -> str:
        """The time zone in which Spark reads times without one."""
        return self.reading.time_zone


def _without_variables(name: str) -> str:
    """The name without `${`: Spark would replace a variable in every text that has the name."""
    return name.replace("${", "$ {")
