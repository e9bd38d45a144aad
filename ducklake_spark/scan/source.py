"""A list of known files as a Spark source, without Spark listing or globbing anything.

Spark's own file-sink log names the files of a folder with their sizes; a folder that holds
nothing but such a log plans thousands of files at once, whatever characters their paths have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ducklake_spark.session import Session
from ducklake_spark.spec.model import DataFile
from ducklake_spark.storage.hadoop import hadoop_path, hadoop_uri

_OPTIONS = {
    "recursiveFileLookup": "true",
    # Whatever the session says: a lost or damaged file is an error, not an empty file.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}


def read_files(session: Session, files: Mapping[int, DataFile], schema: StructType) -> DataFrame:
    """The rows of Parquet files under one read schema.

    The log gives each file its ordinal for the time it was changed at: a number that Spark hands
    on with every row for nothing, while to look a path up costs with every row.
    """
    reader = session.spark.read.schema(schema).options(**_OPTIONS)
    # A log that begins compacted is found whatever fileSink.log.compactInterval says.
    log = _manifest(files), "_spark_metadata", "0.compact"
    if session.is_connect:  # it reads the log whenever the frame is used
        return reader.parquet(hadoop_path(str(session.scratch.keep(*log))))
    folder = session.scratch.place(*log)
    try:
        return reader.parquet(hadoop_path(str(folder)))
    finally:
        session.scratch.remove(folder)


def _manifest(files: Mapping[int, DataFile]) -> str:
    entries = [
        {
            "path": hadoop_uri(file.path),
            "size": file.file_size_bytes,
            "isDir": False,
            "modificationTime": ordinal,
            "blockReplication": 1,
            "blockSize": 128 * 1024 * 1024,
            "action": "add",
        }
        for ordinal, file in files.items()
    ]
    return "\n".join(["v1", *map(json.dumps, entries)]) + "\n"
