"""Where the archive of Java classes is, and what a JVM is told of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ducklake_spark.session.archive import archive_path, still_fits, with_archive

HERE = Path("/caches/spark.jsa")


def test_each_java_and_spark_has_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "/opt/java-17")
    first = archive_path()
    monkeypatch.setenv("JAVA_HOME", "/opt/java-21")
    assert archive_path() != first
    assert archive_path().parent == first.parent == tmp_path / "dbt-ducklake"
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert archive_path().name not in {first.name, "spark-.jsa"}


def test_an_archive_fits_until_a_jar_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("jars", "lib"):
        (tmp_path / folder).mkdir()
    jar, modules, archive = (tmp_path / name for name in ("jars/a.jar", "lib/modules", "a.jsa"))
    for at, made in enumerate((jar, modules, archive)):
        made.touch()
        os.utime(made, (at, at))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert still_fits(archive)
    os.utime(jar, (9, 9))
    assert not still_fits(archive)
    os.utime(archive, (10, 10))
    assert still_fits(archive)
    modules.unlink()
    assert not still_fits(archive)
    archive.unlink()
    assert not still_fits(archive)


def test_options_of_the_user_stay() -> None:
    assert with_archive("-Xss4m", HERE).startswith(f"-Xss4m -XX:SharedArchiveFile={HERE} ")
    assert with_archive("", HERE).startswith("-XX:SharedArchiveFile=")


@pytest.mark.parametrize(
    "own", ["-XX:SharedArchiveFile=/mine.jsa", "-XX:ArchiveClassesAtExit=/mine.jsa"]
)
def test_an_archive_of_the_users_own_counts(own: str) -> None:
    assert with_archive(own, HERE) == own
