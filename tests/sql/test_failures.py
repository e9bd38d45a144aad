"""Spark's errors with the user's names and places, and without the noise."""

from __future__ import annotations

from pyspark.errors import PySparkException

from ducklake_spark.sql.failures import query_error, shown_names
from ducklake_spark.sql.splice import Edit, spliced


def test_names_of_views_become_those_of_the_user() -> None:
    text = "cannot find in `lake.main.t @7 #12` or `lake.s.u @7 #13` AS `u`, `lake.snapshots #14`"
    assert shown_names(text) == "cannot find in lake.main.t or `u`, lake.snapshots"
    assert shown_names("`a b`.`c` #3") == "`a b`.`c` #3"


def test_the_place_is_that_of_the_users_text() -> None:
    query = spliced("SELECT nope\nFROM t WHERE also", [Edit(17, 18, "`lake.main.t @1 #1` AS `t`")])
    message = (
        "[X] Column `also` is not in `lake.main.t @1 #1`. line 2 pos 38;\n'Project ['nope]\n"
        "+- Relation\n\nJVM stacktrace:\nat org.x"
    )
    text = str(query_error(PySparkException(message), query))
    assert text.splitlines() == [
        "[DL402] [X] Column `also` is not in lake.main.t.",
        "  line 2: FROM t WHERE also",
        "                       ^",
    ]


def test_without_a_place_the_message_is_enough() -> None:
    text = str(query_error(PySparkException("it failed\n\tat org.apache.spark.X(Y.scala:1)\n")))
    assert text == "[DL402] it failed"


def test_the_plan_of_a_command_is_left_out() -> None:
    message = "[X] It failed. SQLSTATE: 42623;\nCreateVariable default(1)\n:  +- Aggregate [a#1]"
    assert str(query_error(PySparkException(message))) == "[DL402] [X] It failed. SQLSTATE: 42623"


def test_a_part_of_a_statement_is_shown_with_all_of_its_line() -> None:
    part, whole = "              SELECT nope FROM t", "INSERT INTO t SELECT nope FROM t"
    text = str(query_error(PySparkException("[X] line 1 pos 21"), spliced(part, []), whole))
    assert text.splitlines()[1:] == [f"  line 1: {whole}", " " * 31 + "^"]


def test_no_advice_to_change_a_setting_that_is_fixed() -> None:
    message = (
        "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to return NULL instead. If necessary "
        'set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012'
    )
    assert str(query_error(PySparkException(message))) == (
        "[DL402] [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to return NULL instead. "
        "SQLSTATE: 22012"
    )


def test_columns_of_the_package_are_not_proposed() -> None:
    def shown(proposed: str) -> str:
        message = f"[X] No `nope`. Did you mean one of the following? [{proposed}]. SQLSTATE: 42703"
        return str(query_error(PySparkException(message))).partition("`nope`.")[2]

    assert shown("`s`.`_ducklake_place`, `s`.`id`, `_ducklake_row`") == (
        " Did you mean one of the following? [`s`.`id`]. SQLSTATE: 42703"
    )
    assert shown("`t`.`id`, `a.b`.`c`.`_ducklake_place`") == (
        " Did you mean one of the following? [`t`.`id`]. SQLSTATE: 42703"
    )
    assert shown("`s`.`_ducklake_place`") == " SQLSTATE: 42703"
    assert shown("`s`.`_ducklake_place`, `s`.`_ducklake_row`") == " SQLSTATE: 42703"
