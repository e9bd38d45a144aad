"""What `ducklake` takes and does. An error is one line on stderr, and the exit code is 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path

from ducklake_spark.catalog import Catalog
from ducklake_spark.cli.cancelling import Canceller
from ducklake_spark.cli.connection import Connection
from ducklake_spark.cli.output import FORMATS, show, show_rows
from ducklake_spark.cli.profiles import read_profile
from ducklake_spark.cli.shell import Shell
from ducklake_spark.cli.warm_up import warm_up
from ducklake_spark.doctor import examine
from ducklake_spark.errors import ConfigError, DuckLakeError
from ducklake_spark.lake import Lake
from ducklake_spark.report import write_report
from ducklake_spark.session import archive_path, still_fits
from ducklake_spark.spec.changes import describe_change
from ducklake_spark.sql import split_statements

# Gives the exit code.
_Command = Callable[[argparse.Namespace], int]
_LakeCommand = Callable[[Lake, Connection, argparse.Namespace], None]
_CatalogCommand = Callable[[Catalog, argparse.Namespace], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `ducklake`; the return value is the exit code."""
    given = _parser().parse_args(arguments)
    try:
        run: _Command = given.run
        return run(given)
    except DuckLakeError as error:
        print(f"ducklake: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except BrokenPipeError:  # of `| head`
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("ducklake: cancelled", file=sys.stderr)  # noqa: T201
        return 130


def _with_spark(command: _LakeCommand) -> _Command:
    """A command on an open lake, which takes a Spark."""

    def run(given: argparse.Namespace) -> int:
        connection = _connection(given)
        with connection.open() as lake:
            command(lake, connection, given)
        return 0

    return run


def _without_spark(command: _CatalogCommand) -> _Command:
    """A command on the catalog alone, which answers at once."""

    def run(given: argparse.Namespace) -> int:
        with _connection(given).open_catalog() as catalog:
            command(catalog, given)
        return 0

    return run


# --- commands ---


def _sql(lake: Lake, _: Connection, given: argparse.Namespace) -> None:
    text = sys.stdin.read() if given.statements == "-" else given.statements
    with Canceller(lake) as canceller:
        for statement in split_statements(text):
            canceller.run(partial(_run, lake, statement, given))


def _run(lake: Lake, statement: str, given: argparse.Namespace) -> None:
    show(lake.execute(statement), given.output, given.limit)


def _shell(lake: Lake, connection: Connection, given: argparse.Namespace) -> None:
    Shell(lake, connection.name, given.output, given.limit).run()


def _snapshots(catalog: Catalog, given: argparse.Namespace) -> None:
    names = ["snapshot_id", "snapshot_time", "author", "commit_message", "changes"]
    relations = catalog.relations()
    rows = [
        (
            commit.snapshot.id,
            commit.snapshot.time.isoformat(" ", "seconds"),
            commit.author,
            commit.message,
            ", ".join(describe_change(change, relations) for change in commit.changes),
        )
        for commit in reversed(catalog.commits())
    ]
    show_rows(names, rows, given.output, given.limit)


def _tables(catalog: Catalog, given: argparse.Namespace) -> None:
    reader = catalog.at()
    rows = []
    for schema in reader.schemas():
        rows += [(schema.name, e.name.name, "table") for e in reader.tables(schema.name)]
        rows += [(schema.name, view.name.name, "view") for view in reader.views(schema.name)]
    show_rows(["schema", "name", "kind"], sorted(rows), given.output, given.limit)


def _report(catalog: Catalog, given: argparse.Namespace) -> None:
    print(write_report(catalog, given.output))  # noqa: T201


def _warm_up(given: argparse.Namespace) -> int:
    archive = archive_path()
    if still_fits(archive) and not given.again:
        print(f"{archive} fits this Java and this Spark. --again creates it anew.")  # noqa: T201
        return 0
    warm_up(archive)
    size = archive.stat().st_size / 1e6
    print(f"{archive} ({size:,.0f} MB): Spark starts from it as long as it is there.")  # noqa: T201
    return 0


def _doctor(given: argparse.Namespace) -> int:
    connection = _connection(given)
    ill = 0
    for finding in examine(
        connection.catalog,
        connection.data_path,
        connection.spark,
        metadata_schema=connection.metadata_schema,
        attached=connection.attached,
    ):
        print(finding)  # noqa: T201
        ill += not finding.is_well
    return 1 if ill else 0


# --- arguments ---


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ducklake",
        description="SQL on a DuckLake, run by Spark.",
        epilog="Without --catalog, a profile of dbt says which lake: profiles.yml is looked for "
        "as dbt does.",
    )
    version = f"dbt-ducklake {metadata.version('dbt-ducklake')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run, summary, options in _COMMANDS:
        command = commands.add_parser(name, help=summary, description=summary)
        command.set_defaults(run=run, master=None, remote=None)
        for add in options:
            add(command)
    return parser


def _add_statements(command: argparse.ArgumentParser) -> None:
    command.add_argument("statements", help="the statements; - reads them from stdin")


def _add_again(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--again", action="store_true", help="replace an archive that fits this Java and this Spark"
    )


def _add_page(command: argparse.ArgumentParser) -> None:
    file = Path("lake-report.html")
    command.add_argument(
        "-o", "--output", type=Path, default=file, help=f"the page's file (default: {file})"
    )


def _add_spark_options(command: argparse.ArgumentParser) -> None:
    spark = command.add_argument_group("which Spark")
    spark.add_argument("--master", help="where Spark runs (default: local[*])")
    spark.add_argument("--remote", help="a Spark Connect server, sc://host:15002")


def _add_output_options(command: argparse.ArgumentParser) -> None:
    shown = command.add_argument_group("what is shown")
    shown.add_argument("--limit", type=int, default=100, help="at most so many rows (default: 100)")
    shown.add_argument("--output", choices=FORMATS, default="table", help="default: table")


def _add_lake_options(command: argparse.ArgumentParser) -> None:
    where = command.add_argument_group("which lake")
    where.add_argument("--catalog", help="what DuckDB's ATTACH takes after ducklake:")
    where.add_argument("--data-path", help="where a new lake keeps its files")
    where.add_argument("--metadata-schema", help="the schema of the catalog's tables in PostgreSQL")
    where.add_argument(
        "--allow-path",
        action="append",
        metavar="PATH",
        help="a folder outside the data path whose files the catalog may name; can be repeated",
    )
    where.add_argument("--database", help="the lake's name in SQL (default: lake)")
    where.add_argument("--profile", help="a profile of profiles.yml")
    where.add_argument("--target", help="an output of the profile")
    where.add_argument("--profiles-dir", type=Path, help="the folder of profiles.yml")


_SHOWN = (_add_lake_options, _add_output_options)
_ON_SPARK = (_add_lake_options, _add_spark_options)
_COMMANDS: tuple[tuple[str, _Command, str, Sequence[Callable[..., None]]], ...] = (
    ("sql", _with_spark(_sql), "run statements, which semicolons end",
     (*_ON_SPARK, _add_output_options, _add_statements)),
    ("shell", _with_spark(_shell), "type statements, each ended by a semicolon",
     (*_ON_SPARK, _add_output_options)),
    ("snapshots", _without_spark(_snapshots), "the history of the lake, newest first", _SHOWN),
    ("tables", _without_spark(_tables), "the tables and views of the lake", _SHOWN),
    ("report", _without_spark(_report),
     "the lake as an HTML page: sizes, history, what maintenance would gain",
     (_add_lake_options, _add_page)),
    ("doctor", _doctor,
     "whether Java, Spark, the catalog and the data path are as they should be", _ON_SPARK),
    ("warm-up", _warm_up,
     "let a local Spark start faster: archive the Java classes that it loads", (_add_again,)),
)  # fmt: skip


def _connection(given: argparse.Namespace) -> Connection:
    if given.catalog and (given.profile or given.target or given.profiles_dir):
        raise ConfigError("--catalog and a profile both name a lake.", hint="Give one of them.")
    if given.catalog:
        found = Connection(
            given.catalog,
            given.data_path,
            given.metadata_schema,
            allow_paths=tuple(given.allow_path or ()),
        )
    elif given.data_path or given.metadata_schema or given.allow_path:
        raise ConfigError(
            "--data-path, --metadata-schema and --allow-path need --catalog.",
            hint="Add --catalog, or write the settings into the profile.",
        )
    else:
        found = read_profile(given.profile, given.target, given.profiles_dir)
    spark = replace(
        found.spark,
        master=given.master or found.spark.master,
        remote=given.remote or found.spark.remote,
    )
    if given.database:
        found = found.led_by(given.database)
    return replace(found, spark=spark)
