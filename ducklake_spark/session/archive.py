"""The archive of Java classes with which Spark starts faster.

`ducklake warm-up` makes it. A JVM takes it as long as Java and Spark's jars are what they were, and
starts without it if they are not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pyspark

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def archive_path() -> Path:
    """Where the archive of this Java and this Spark is, if there is one."""
    java = os.environ.get("JAVA_HOME") or shutil.which("java") or ""
    spark = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    made_for = f"{Path(java).resolve()} {Path(spark).resolve()} {pyspark.__version__}"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(made_for.encode()).hexdigest()[:16]
    return caches / "dbt-ducklake" / f"spark-{key}.jsa"


def still_fits(archive: Path) -> bool:
    """Return whether nothing that an archive was made of is newer than the archive."""
    if not archive.exists():
        return False
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    # JAVA_HOME is the folder; the program on the PATH is bin/java in one.
    home = Path(java).resolve() if java else None
    if home is not None and home.is_file():
        home = home.parents[1]
    jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
    made_of = [*jars.glob("*.jar"), *([home / "lib" / "modules"] if home else [])]
    made_at = archive.stat().st_mtime
    return all(part.exists() and part.stat().st_mtime <= made_at for part in made_of)


def archiving(path: Path) -> str:
    """The option of a JVM that is to write an archive when it ends."""
    return f"-XX:ArchiveClassesAtExit={path}"


def with_archive(options: str, path: Path) -> str:
    """A JVM's options with an archive, unless they name one."""
    if "Archive" in options:
        return options
    # That it does not fit is no news for a user.
    quiet = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
    return f"{options} -XX:SharedArchiveFile={path} {quiet}".lstrip()
