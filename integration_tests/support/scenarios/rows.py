"""Scenarios that add and delete rows, in files and in the catalog."""

from __future__ import annotations

from ducklake_spark.catalog import Field
from ducklake_spark.files import truncate
from support.expectations import Rel, rel
from support.scenarios.steps import (
    BOTH,
    ID,
    MORE,
    NAME,
    NESTED,
    NESTED_FIELDS,
    START,
    Scenarios,
    T,
    both,
    by_duckdb,
    delete,
    end_files,
    mapped_rows,
    ours,
    rows,
    updated_rows,
)


def without(known: Rel, *ids: int) -> Rel:
    return known.with_rows(row for row in known.rows if row[0] not in ids)


SEVENS = [1.0, -0.0, float("inf"), 1e-7, 2.5]
FLOATS = rel("id f", *enumerate(SEVENS))
TWO_FILES = (START, ours(lambda tx: rows(tx, "t", MORE), {"t": BOTH}))

ROWS: Scenarios = {
    "append a file": TWO_FILES,
    "append several files": (
        START,
        ours(
            lambda tx: both(rows(tx, "t", MORE), rows(tx, "t", rel("id name", (6, "f")))),
            {"t": BOTH.with_rows([*BOTH.rows, (6, "f")])},
        ),
    ),
    "append nothing but NULL": (
        START,
        ours(
            lambda tx: rows(tx, "t", rel("id name", (None, None))),
            {"t": T.with_rows([*T.rows, (None, None)])},
        ),
    ),
    "append floats": (
        ours(
            lambda tx: both(
                tx.create_table("t", [ID, Field("f", "float64")]), rows(tx, "t", FLOATS)
            ),
            {"t": FLOATS},
        ),
    ),
    "append a file with a name mapping": (
        START,
        ours(lambda tx: mapped_rows(tx, "t", MORE), {"t": BOTH}),
    ),
    "append a nested file with a name mapping": (
        ours(
            lambda tx: both(tx.create_table("n", NESTED_FIELDS), mapped_rows(tx, "n", NESTED)),
            {"n": NESTED},
        ),
    ),
    "append with a name mapping, then rename": (
        START,
        ours(lambda tx: mapped_rows(tx, "t", MORE), {"t": BOTH}),
        ours(
            lambda tx: both(
                tx.rename_column("t", "name", "label"),
                mapped_rows(tx, "t", rel("id label", (6, "f"))),
            ),
            {"t": rel("id label", *BOTH.rows, (6, "f"))},
        ),
    ),
    "delete some rows": (START, ours(lambda tx: delete(tx, "t", 0, 1), {"t": without(T, 2)})),
    "delete twice from a file": (
        *TWO_FILES,
        ours(lambda tx: delete(tx, "t", 0, 1), {"t": without(BOTH, 2)}),
        ours(lambda tx: delete(tx, "t", 0, 0), {"t": without(BOTH, 1, 2)}),
    ),
    "delete three times from a file": (
        START,
        ours(lambda tx: rows(tx, "t", MORE), {"t": BOTH}),
        ours(lambda tx: delete(tx, "t", 1, 1), {"t": without(BOTH, 5)}),
        ours(lambda tx: delete(tx, "t", 0, 0), {"t": without(BOTH, 1, 5)}),
        ours(lambda tx: delete(tx, "t", 0, 1), {"t": without(BOTH, 1, 2, 5)}),
    ),
    "delete twice in one transaction": (
        *TWO_FILES,
        ours(
            lambda tx: both(delete(tx, "t", 0, 1), delete(tx, "t", 0, 0), delete(tx, "t", 1, 0)),
            {"t": without(BOTH, 1, 2, 4)},
        ),
    ),
    "delete all rows of a file": (
        *TWO_FILES,
        ours(lambda tx: end_files(tx, "t", 0), {"t": MORE}),
    ),
    "delete the last rows of a file": (
        *TWO_FILES,
        ours(lambda tx: delete(tx, "t", 0, 1), {"t": without(BOTH, 2)}),
        ours(lambda tx: delete(tx, "t", 0, 0, 2), {"t": MORE}),
    ),
    "truncate": (*TWO_FILES, ours(lambda tx: tx.truncate("t"), {"t": rel("id name")})),
    "overwrite": (
        START,
        ours(lambda tx: both(tx.truncate("t"), rows(tx, "t", MORE)), {"t": MORE}),
    ),
    "overwrite after a delete": (
        *TWO_FILES,
        ours(lambda tx: delete(tx, "t", 0, 1), {"t": without(BOTH, 2)}),
        ours(lambda tx: both(tx.truncate("t"), rows(tx, "t", T)), {"t": T}),
    ),
    "update by delete and insert": (
        START,
        ours(
            lambda tx: both(delete(tx, "t", 0, 1), rows(tx, "t", rel("id name", (2, "new")))),
            {"t": T.with_rows([*without(T, 2).rows, (2, "new")])},
        ),
    ),
    "update and keep the row ids": (
        START,
        ours(
            lambda tx: both(
                delete(tx, "t", 0, 1, 2),
                updated_rows(tx, "t", rel("id name", (2, "new"), (30, "c")), [1, 2]),
            ),
            {"t": rel("id name", (1, "a"), (2, "new"), (30, "c"))},
        ),
    ),
    "insert, then delete some of it in one transaction": (
        START,
        ours(lambda tx: both(rows(tx, "t", MORE), delete(tx, "t", 1, 0)), {"t": without(BOTH, 4)}),
        ours(lambda tx: delete(tx, "t", 0, 0), {"t": without(BOTH, 1, 4)}),
    ),
    "insert, then delete it again in one transaction": (
        START,
        ours(
            lambda tx: both(rows(tx, "t", MORE), delete(tx, "t", 1, 0, 1), tx.truncate("t")),
            {"t": rel("id name")},
        ),
    ),
    "create, fill and empty in one transaction": (
        ours(
            lambda tx: both(
                tx.create_table("t", [ID, NAME]),
                rows(tx, "t", T),
                delete(tx, "t", 0, 0),
                tx.rename_column("t", "name", "label"),
            ),
            {"t": rel("id label", (2, "b"), (3, None))},
        ),
    ),
}

CREATE_INLINED = ours(
    lambda tx: both(
        tx.create_table("t", [ID, NAME], options={"data_inlining_row_limit": 10}), rows(tx, "t", T)
    ),
    {"t": T},
)
INLINED_MORE = by_duckdb("INSERT INTO t VALUES (4, 'd'), (5, 'a')", {"t": BOTH})

INLINED: Scenarios = {
    "delete inlined rows": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(lambda tx: tx.delete_inlined("t", [3]), {"t": without(BOTH, 4)}),
    ),
    "delete inlined rows and rows of files": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(
            lambda tx: both(tx.delete_inlined("t", [4]), delete(tx, "t", 0, 0), rows(tx, "t", T)),
            {"t": BOTH.with_rows([(2, "b"), (3, None), (4, "d"), *T.rows])},
        ),
    ),
    "truncate inlined rows": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(lambda tx: tx.truncate("t"), {"t": rel("id name")}),
    ),
    "append beside inlined rows": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(lambda tx: rows(tx, "t", T), {"t": BOTH.with_rows([*BOTH.rows, *T.rows])}),
    ),
    "alter a table with inlined rows": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(
            lambda tx: both(
                tx.add_column("t", Field("x", "int32", default=7)),
                tx.rename_column("t", "name", "label"),
            ),
            {"t": rel("id label x", *((*row, 7) for row in BOTH.rows))},
        ),
        ours(
            lambda tx: tx.delete_inlined("t", [4]),
            {"t": rel("id label x", *((*row, 7) for row in without(BOTH, 5).rows))},
        ),
    ),
    "delete from a file that has inlined deletes": (
        CREATE_INLINED,
        by_duckdb("DELETE FROM t WHERE id = 2", {"t": without(T, 2)}),
        ours(lambda tx: delete(tx, "t", 0, 0), {"t": without(T, 1, 2)}),
    ),
    "end a file that has inlined deletes": (
        CREATE_INLINED,
        by_duckdb("DELETE FROM t WHERE id = 2", {"t": without(T, 2)}),
        ours(
            lambda tx: both(truncate(tx, "t"), rows(tx, "t", MORE)),
            {"t": MORE},
        ),
    ),
    "delete all that inlined deletes left": (
        CREATE_INLINED,
        by_duckdb("DELETE FROM t WHERE id = 2", {"t": without(T, 2)}),
        ours(lambda tx: delete(tx, "t", 0, 0, 2), {"t": rel("id name")}),
    ),
    "rename a table with inlined rows": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(lambda tx: tx.rename_table("t", "u"), {"t": None, "u": BOTH}),
    ),
    "drop a table with inlined rows": (
        CREATE_INLINED,
        INLINED_MORE,
        ours(lambda tx: tx.drop_table("t"), {"t": None}),
    ),
}
