"""Whatever is typed, there is a meaning or a clear error: no other exception, no endless loop."""

from __future__ import annotations

import random

import pytest

from ducklake_spark.errors import DuckLakeError, StatementError
from ducklake_spark.sql.parser import parse
from ducklake_spark.sql.pruning import demands_of
from ducklake_spark.sql.references import find_references
from ducklake_spark.sql.statements import Query
from ducklake_spark.sql.tokens import Cursor, is_ended, split_statements, tokenize

STATEMENTS = [
    "CREATE OR REPLACE TABLE a.b (id INT NOT NULL DEFAULT 1, s STRUCT<x: ARRAY<INT>> COMMENT 'c') "
    "PARTITIONED BY (bucket(3, id)) SORTED BY (id DESC) TBLPROPERTIES ('k' = 'v') AS SELECT 1",
    "CREATE VIEW v (a COMMENT 'x', b) AS WITH c AS (SELECT * FROM t) SELECT a, b FROM c",
    "ALTER TABLE t ADD COLUMNS (a INT, b.c STRING COMMENT 'x')",
    "ALTER TABLE t ALTER COLUMN a SET DEFAULT 5",
    "ALTER TABLE t SET PARTITIONED BY (a, month(b))",
    "INSERT OVERWRITE t PARTITION (a = 1, b) (c) SELECT * FROM u WHERE x = 'y'",
    "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED AND t.b THEN UPDATE SET a = 1, "
    "b = 2 WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "UPDATE t AS x SET a = CASE WHEN b THEN 1 END, c.d = f(1, 2) WHERE e IN (SELECT 1 FROM u)",
    "DELETE FROM a.b.c x WHERE x.y = 1 AND EXISTS (SELECT 1 FROM t VERSION AS OF 3 q)",
    "SELECT * FROM t TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY AS x JOIN u USING (k) "
    "LATERAL VIEW explode(xs) e AS y WHERE x.a = 1 AND b IS NOT NULL OR c LIKE 'd%' "
    "UNION ALL (TABLE v) ORDER BY 1 LIMIT 5",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r |> WHERE n",
    "CALL lake.f(1, x => 'y', z => array(1, 2))",
    "SHOW TABLES IN a.b LIKE 'x*'",
    "COMMENT ON COLUMN a.b.c IS 'it''s'",
    "EXPLAIN EXTENDED SELECT `a b`.`c``d` FROM lake.snapshots() s",
    "BEGIN TRANSACTION",
    "COMMIT MESSAGE 'x'",
    "DESCRIBE TABLE EXTENDED a.b",
]
ODD = ["(", ")", ",", ".", ";", "'", "`", '"', "--", "/*", "*/", "$$", "\x00", "é", "🦆", "=", "=>",
       "SELECT", "FROM", "AS", "WITH", "NOT", "CASE", "END", "[", "]", "<", ">", "\\", "1e", "{{",
       "%", "@", "#", "?", ":x", "::", "->", "|>"]  # fmt: skip


def damaged(rng: random.Random, statement: str) -> str:
    tokens = [statement[token.start : token.end] for token in tokenize(statement)]
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, rng.choice(ODD))
            case 2:
                tokens[at] = rng.choice(tokens)
            case _:
                tokens = tokens[:at] or tokens
        if not tokens:
            break
    return rng.choice([" ", "\n", "  "]).join(tokens)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_damaged_statements(statement: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(25):
        text = damaged(rng, statement)
        try:
            is_ended(text)
            split_statements(text)
            parsed = parse(text)
            if isinstance(parsed, Query):
                for reference in find_references(Cursor(parsed.text)).references:
                    assert 0 <= reference.start < reference.end <= len(parsed.text), text
                demands_of(parsed.text)
        except DuckLakeError as error:
            assert error.message, text  # noqa: PT017


def test_long_statements() -> None:
    names = ", ".join(f"column_{at} AS c{at}" for at in range(5_000))
    text = f"SELECT {names} FROM t WHERE a IN ({', '.join(map(str, range(5_000)))})"
    assert len(text) > 100_000
    assert parse(text) == Query(text)
    (found,) = find_references(Cursor(text)).references
    assert found.parts == ("t",)


def test_deep_statements() -> None:
    def nested(depth: int) -> str:
        return "SELECT * FROM (" * depth + "SELECT * FROM t WHERE a = 1" + ")" * depth

    (found,) = find_references(Cursor(nested(50))).references
    assert found.parts == ("t",)
    with pytest.raises(StatementError, match="too deeply"):
        find_references(Cursor(nested(5_000)))
    assert demands_of(nested(5_000)) == {}
