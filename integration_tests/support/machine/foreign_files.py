"""Files of others below the lake's data path, which no upkeep may touch."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import duckdb

from support.lakes import file_lake
from support.oracle import duck_runs


@functools.cache
def _template() -> Path:
    """A folder with a nested lake, and a user's own files, one of them in a table's folder."""
    folder = Path(tempfile.mkdtemp(prefix="ducklake-foreign-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "nested").mkdir()
    lake = file_lake("duckdb", folder / "nested")
    duck_runs(lake, "CREATE TABLE t AS SELECT i FROM range(20) r(i)")
    for path in (folder / "export.parquet", folder / "main" / "t" / "mine.parquet"):
        path.parent.mkdir(parents=True, exist_ok=True)
        duckdb.execute(f"COPY (SELECT 1 AS x) TO '{path}' (FORMAT parquet)")
    (folder / "notes.txt").write_text("not the lake's")
    return folder


class ForeignFiles:
    """Foreign files, planted below a data path."""

    def __init__(self, data: Path) -> None:
        source = _template()
        shutil.copytree(source, data, dirs_exist_ok=True)
        self._known = {
            data / path.relative_to(source): path.read_bytes()
            for path in source.rglob("*")
            if path.is_file()
        }

    def check(self) -> None:
        for path, content in self._known.items():
            assert path.exists(), f"A file of somebody else was deleted: {path}"
            assert path.read_bytes() == content, f"A file of somebody else was changed: {path}"
