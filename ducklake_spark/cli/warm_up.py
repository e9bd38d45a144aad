"""Makes the archive of Java classes that lets a local Spark start faster."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ducklake_spark.errors import ConfigError
from ducklake_spark.session import JAVA_OPTIONS, archiving

# What most runs do: the classes it takes are in the archive.
_STATEMENTS = """
CREATE TABLE t AS SELECT id, cast(id AS string) AS name, current_timestamp() AS at FROM range(9);
CREATE VIEW v AS SELECT name, count(*) AS n FROM t WHERE id > 1 GROUP BY name;
INSERT INTO t SELECT id + 9, 'more', NULL FROM range(9);
MERGE INTO t USING (SELECT 3L AS id UNION ALL SELECT 30L) AS s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET name = 'merged'
    WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'new');
DELETE FROM t WHERE id = 4;
SELECT a.name, b.n FROM t AS a JOIN v AS b ON a.name = b.name ORDER BY a.id
"""
_LAST_LINES = 12


def warm_up(place: Path) -> None:
    """Write the archive for this Java and this Spark, in place of one that exists."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as name:
        folder = Path(name).resolve()
        new = folder / place.name
        said = _run_archiving(folder, new)
        if not new.exists():
            detail = "".join(f"\n  {line}" for line in said.splitlines()[-_LAST_LINES:])
            raise ConfigError(
                f"Java wrote no archive.{detail}",
                hint="Java 17 and newer can; Spark starts without one, too.",
            )
        # In one step: a JVM does not survive half an archive.
        new.replace(place)


def _run_archiving(folder: Path, archive: Path) -> str:
    """What a process said whose JVM archives its classes. It has ended when its pipe is closed."""
    command = (sys.executable, "-m", "ducklake_spark.cli", "sql", _STATEMENTS)
    lake = ("--catalog", f"sqlite:{folder}/catalog.sqlite", "--data-path", f"{folder}/data/")
    option = f"--conf {JAVA_OPTIONS}={archiving(archive)} pyspark-shell"
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": option}
    done = subprocess.run(  # noqa: S603 - our own command
        (*command, *lake),
        cwd=folder,  # Spark leaves a folder for tables of its own wherever it runs
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ConfigError(
            f"The statements to warm up with failed: {done.stderr.strip()}",
            hint="`ducklake doctor` tells what is missing.",
        )
    return done.stdout
