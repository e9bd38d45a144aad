"""A short story under Spark settings that users change: both engines see the same rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping

import pytest

from ducklake_spark.errors import ConfigError, InvalidDefinitionError
from ducklake_spark.session import Session
from support.sql_lakes import Rows, SqlLake, sql_lake

_MATRIX: dict[str, dict[str, str]] = {
    "defaults": {},
    "oslo, case": {
        "spark.sql.session.timeZone": "Europe/Oslo",
        "spark.sql.caseSensitive": "true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "3",
    },
    "st johns, names": {
        "spark.sql.session.timeZone": "America/St_Johns",
        "spark.sql.variable.substitute": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.crossJoin.enabled": "false",
        "spark.sql.ansi.enforceReservedKeywords": "true",
        "spark.sql.parser.singleCharacterPipeOperator.enabled": "false",
    },
    "kolkata, types": {
        "spark.sql.session.timeZone": "Asia/Kolkata",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
        "spark.sql.legacy.literal.pickMinimumPrecision": "false",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.legacy.setopsPrecedence.enabled": "true",
        "spark.sql.legacy.ctePrecedencePolicy": "LEGACY",
        "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "true",
        "spark.sql.legacy.charVarcharAsString": "true",
        "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "true",
        "spark.sql.legacy.interval.enabled": "true",
        "spark.sql.legacy.createEmptyCollectionUsingStringType": "true",
    },
    "parquet": {
        "spark.sql.session.timeZone": "+05:30",
        "spark.sql.parquet.binaryAsString": "true",
        "spark.sql.parquet.filterPushdown": "false",
        "spark.sql.parquet.mergeSchema": "true",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
        "spark.sql.parquet.int96AsTimestamp": "false",
        "spark.sql.parquet.recordLevelFilter.enabled": "true",
        "spark.sql.parquet.compression.codec": "gzip",
        "spark.sql.files.maxRecordsPerFile": "2",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.sources.default": "orc",
        "spark.sql.streaming.fileSink.log.compactInterval": "1",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2",
    },
}
_REJECTED = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
    "spark.sql.datetime.java8API.enabled": "false",
    "spark.sql.sources.useV1SourceList": "csv",
}
# Rows of one file each. Time zone databases disagree about the first two years, and clocks skip
# and repeat hours on the days that follow.
_YEARS = ("1890-01-01", "1964-06-01", "1999-03-28", "2024-10-27", "2050-07-01")
_COLUMNS = (
    "id INT, v STRING, f DOUBLE, dec DECIMAL(12, 3), d DATE, ts TIMESTAMP_NTZ, tz TIMESTAMP_LTZ, "
    "b BOOLEAN, s STRUCT<a: INT, b: STRING>, l ARRAY<INT>, m MAP<STRING, INT>, x BINARY"
)
_STORY = (
    "UPDATE t SET v = concat(v, '!'), tz = tz, l = array(id, NULL) WHERE id IN (1, 11)",
    "UPDATE t SET s.b = 'it''s' WHERE s.a = 21",
    "MERGE INTO t USING (SELECT id, v FROM t VERSION AS OF 6 WHERE id > 30) AS o ON t.id = o.id "
    "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET f = 0.5",
    "MERGE INTO t USING (SELECT 99 AS id, 'new' AS v) AS o ON t.id = o.id "
    "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (o.id, o.v)",
    "DELETE FROM t WHERE v = 'w3' OR d = '1964-06-01'",
    "CREATE TABLE p (v STRING, n INT, d DATE) PARTITIONED BY (v, year(d))",
    "INSERT INTO p SELECT v, id, d FROM t WHERE id < 40",
    "INSERT OVERWRITE p PARTITION (v, d) SELECT 'w1!', 100, DATE '1890-05-05'",
    "CREATE VIEW w AS SELECT id, v, f + 1e0 AS g FROM t WHERE v <> '' AND id >= 10",
    "CREATE TABLE c AS SELECT id, upper(v) AS v, 1.5 AS k, d FROM w JOIN t USING (id, v)",
)  # fmt: skip
_QUERIES = {
    "SELECT id, v, f, dec, CAST(d AS STRING), CAST(ts AS STRING), unix_micros(tz), b, s.a, s.b, "
    "l[0], m['k'], hex(x) FROM t":
    "SELECT id, v, f, dec, CAST(d AS VARCHAR), CAST(ts AS VARCHAR), epoch_us(tz), b, s.a, s.b, "
    "l[1], m['k'], hex(x) FROM t",
    "SELECT v, n, CAST(d AS STRING) FROM p": "SELECT v, n, CAST(d AS VARCHAR) FROM p",
    "SELECT id, v, g FROM w": "SELECT id, v, g FROM w",
    "SELECT id, v, k FROM c": "SELECT id, v, k FROM c",
    "SELECT count(*), sum(id) FROM t VERSION AS OF 6":
    "SELECT count(*), sum(id) FROM t AT (VERSION => 6)",
}  # fmt: skip
_FILTERS = [
    "id = 21", "id > 1e1", "id < 20.5", "id = 2.1e1", "v = 'w2'", "v LIKE 'w3%'", "v > 'w3'",
    "v = 'w' '4'", r"v = r'w4'", r"v = '\u0077\x32'", r"v = 'w\62'", "f = 2.5", "f > 3e0",
    "f = 25e-1", "f = 2.5F", "dec = 10.001", "dec >= 3e1", "dec < 11", "b", "b = true",
    "d = '1964-06-01'", "d > DATE '1999-01-01'", "d = TIMESTAMP '2024-10-27 00:00:00'",
    "tz = TIMESTAMP '1964-06-01 12:30:00'", "tz >= '1999-03-28 02:30:00'",
    "tz < TIMESTAMP '1890-01-01 12:00:00'", "tz = '2024-10-27 02:30:00'", "tz > DATE '2050-07-01'",
    "tz IN (TIMESTAMP '1964-06-01 12:30:00', TIMESTAMP '2050-07-01 12:30:00')",
    "tz BETWEEN '1964-06-01 00:00:00' AND '1964-06-02 00:00:00'", "tz = ts",
    "ts = TIMESTAMP_NTZ '1964-06-01 12:30:00'", "ts >= '2024-10-27 02:30:00'",
    "ts = TIMESTAMP '1964-06-01 12:30:00'", "s.a = 21", "x = X'0102'", "id = 5 | 16",
]  # fmt: skip


def _fill(lake: SqlLake) -> None:
    """Give t a file a year, with rows half an hour apart from noon on, and clocks of this zone."""
    lake.run(f"CREATE TABLE t ({_COLUMNS})")
    for at, day in enumerate(_YEARS):
        first = at * 10 + 1
        lake.run(
            f"INSERT INTO t SELECT id, 'w{at}', id + 0.5D, {at * 10} + id / 1000, DATE '{day}', "
            f"TIMESTAMP_NTZ '{day} 12:00:00' + make_dt_interval(0, 0, 30 * (id - {first})), "
            f"timestamp_micros({_micros(day)} + 1800000000L * (id - {first})), id % 2 = 0, "
            f"named_struct('a', id, 'b', 'x'), array(id, {at}), map('k', id), "
            f"unhex(lpad(hex(id), 4, '0')) FROM (SELECT explode(sequence({first}, {first + 3})) "
            "AS id)"
        )


def _micros(day: str) -> int:
    noon = datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00")
    return int(noon.timestamp()) * 1_000_000


def _told(lake: SqlLake) -> dict[str, Rows]:
    """The rows of each query, the same in Spark and in DuckDB."""
    found = {}
    for ours, theirs in _QUERIES.items():
        found[ours] = lake.rows(ours)
        assert found[ours] == lake.duck(theirs), ours
    return found


def _check_filters(lake: SqlLake) -> None:
    """Each filter finds the rows for which it is true, whatever files it leaves unread."""
    checks = ", ".join(f"IF({one}, named_struct('at', {at}, 'id', id), NULL)"
                       for at, one in enumerate(_FILTERS))  # fmt: skip
    wanted = lake.rows(f"SELECT c.at, c.id FROM (SELECT explode(array({checks})) AS c FROM t)")
    union = " UNION ALL ".join(
        f"SELECT {at} AS at, id FROM t WHERE {one}" for at, one in enumerate(_FILTERS)
    )
    assert lake.rows(union) == [row for row in wanted if row[0] is not None]


def _set(lake: SqlLake, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        lake.lake.sql(f"SET {key} = {value}")


@pytest.fixture(scope="module")
def expected(
    session: Session, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Rows]]:
    """Return the rows after the story under Spark's default settings."""
    with sql_lake(session, tmp_path_factory.mktemp("defaults")) as lake:
        _set(lake, {"spark.sql.session.timeZone": "UTC"})
        _fill(lake)
        _check_filters(lake)
        lake.run(*_STORY)
        yield _told(lake)


@pytest.mark.parametrize("settings", [v for v in _MATRIX.values() if v], ids=[*_MATRIX][1:])
def test_the_story_under_other_settings(
    on: SqlLake, expected: dict[str, Rows], settings: Mapping[str, str]
) -> None:
    _set(on, settings)
    _fill(on)
    _check_filters(on)
    on.run(*_STORY)
    assert _told(on) == expected
    assert on.rows("CALL lake.verify()") == []


@pytest.mark.parametrize("key", _REJECTED)
def test_unsupported_settings_are_rejected_by_name(on: SqlLake, key: str) -> None:
    with pytest.raises(ConfigError, match=f"Cannot change {key}: "):
        on.lake.sql(f"SET {key} = {_REJECTED[key]}")
    assert on.rows(f"SET {key}") != [(key, _REJECTED[key])]


@pytest.mark.parametrize("form", ["{}", "BEGIN {}; END"])
def test_settings_are_rejected_in_dynamic_statements(on: SqlLake, form: str) -> None:
    statement = "EXECUTE IMMEDIATE 'SET spark.sql.ansi.enabled = false'"
    with pytest.raises(ConfigError, match=r"Cannot change spark\.sql\.ansi\.enabled: "):
        on.lake.sql(form.format(statement))
    assert on.rows("SET spark.sql.ansi.enabled") == [("spark.sql.ansi.enabled", "true")]


# --- one fault each ---


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.parquet.fieldId.read.enabled", "false"),
        ("spark.sql.streaming.fileStreamSink.ignoreMetadata", "true"),
    ],
)
def test_settings_changed_by_python_code_are_set_back(on: SqlLake, key: str, value: str) -> None:
    on.run("CREATE TABLE t AS SELECT id FROM range(3)")
    on.lake.session.spark.conf.set(key, value)
    assert on.rows("SELECT count(id) FROM t") == [(3,)]
    on.lake.session.spark.conf.set(key, value)
    assert on.lake.table("t").where("id >= 0").count() == 3


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_days_that_the_old_java_calendar_lacks(on: SqlLake, zone: str) -> None:
    on.run(
        f"SET spark.sql.session.timeZone = {zone}",
        "CREATE TABLE t PARTITIONED BY (id) AS SELECT * FROM VALUES "
        "(1, DATE'1582-10-10', TIMESTAMP'1582-10-10 00:00:00+00:00'), "
        "(2, DATE'2024-01-01', TIMESTAMP'2024-01-01 00:00:00+00:00') AS v(id, d, tz)",
    )
    assert on.rows("SELECT id FROM t WHERE d = DATE'1582-10-10'") == [(1,)]
    assert on.rows("SELECT id FROM t WHERE tz = TIMESTAMP'1582-10-10 00:00:00+00:00'") == [(1,)]
    assert on.run("DELETE FROM t WHERE d = DATE'1582-10-10'").rows_deleted == 1


@pytest.fixture
def words(on: SqlLake) -> SqlLake:
    on.run("CREATE TABLE t (id INT, v STRING, w STRING)")
    for at, word in enumerate(("a", "b", r"c\\d", "e")):
        on.run(f"INSERT INTO t VALUES ({at}, '{word}', 'w{at}')")
    return on


def test_variables_in_conditions(words: SqlLake) -> None:
    words.lake.sql("SET that = b")
    assert words.rows("SELECT id FROM t WHERE v = '${that}'") == [(1,)]
    assert words.run("UPDATE t SET w = '${that}' WHERE v = '${that}'").rows_updated == 1
    assert words.same("SELECT w FROM t WHERE id = 1") == [("b",)]
    words.lake.sql("SET one = 3")
    merged = words.run(
        "MERGE INTO t USING (SELECT 3 AS id) AS s ON t.id = s.id AND t.id = ${one} "
        "WHEN MATCHED THEN UPDATE SET w = 'm'"
    )
    assert merged.rows_updated == 1
    assert words.run("DELETE FROM t WHERE id IN (${one}, 77)").rows_deleted == 1
    words.run("INSERT INTO t REPLACE WHERE v = '${that}' SELECT 9, 'b', 'r'")
    assert words.same("SELECT id FROM t WHERE v = 'b'") == [(9,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW o AS SELECT '${that}' AS v",
        "CREATE FUNCTION lake.main.o() RETURNS STRING RETURN '${that}'",
        "ALTER TABLE t ADD COLUMN o STRING DEFAULT upper('${that}')",
    ],
)
def test_texts_that_a_lake_keeps_have_no_variables(words: SqlLake, statement: str) -> None:
    words.lake.sql("SET that = b")
    with pytest.raises(InvalidDefinitionError, match=r"Cannot keep \$\{…\} in"):
        words.run(statement)


def test_settings_changed_behind_our_back_are_reset(words: SqlLake) -> None:
    conf = words.lake._workspace.session.spark.conf
    conf.set("spark.sql.parser.escapedStringLiterals", "true")
    assert words.rows(r"SELECT id FROM t WHERE v = 'c\\d'") == [(2,)]
    conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    assert words.rows('SELECT id FROM t WHERE v = "v"') == []


def test_columns_that_differ_in_case_alone(words: SqlLake) -> None:
    words.lake.sql("SET spark.sql.caseSensitive = true")
    query = "SELECT x FROM (SELECT v AS x, w AS X FROM t) WHERE x = 'b'"
    assert words.rows(query) == [("b",)]


@pytest.mark.parametrize("zone", ["Europe/Oslo", "America/Sao_Paulo", "PST", "UTC", "+05:30"])
def test_old_local_times(on: SqlLake, zone: str) -> None:
    """Python's time zone rules differ from Java's before 1970."""
    on.lake.sql(f"SET TIME ZONE '{zone}'")
    on.run("CREATE TABLE t (born TIMESTAMP)")
    days = ("1850-01-01 12:00:00", "1895-02-03 12:00:00", "1941-06-07 12:00:00",
            "1964-06-01 12:00:00", "2011-12-30 12:00:00", "2080-07-01 12:00:00")  # fmt: skip
    values = ", ".join(f"(TIMESTAMP '{day}')" for day in days)
    on.run(f"INSERT INTO t SELECT /*+ REPARTITION(6, born) */ * FROM VALUES {values} AS v (born)")
    tests = [f"born {op} TIMESTAMP '{day}'" for day in days for op in ("=", "<=", ">=")]
    union = " UNION ALL ".join(f"SELECT '{one[5:9]}', count(*) FROM t WHERE born {one[5:]}"
                               for one in tests)  # fmt: skip
    with on.without_pruning():
        wanted = on.rows(union)
    assert on.rows(union) == wanted
    assert on.run(f"DELETE FROM t WHERE born = '{days[3]}'").rows_deleted == 1
    assert on.rows("SELECT count(*) FROM t TIMESTAMP AS OF '2100-01-01'") == [(5,)]
