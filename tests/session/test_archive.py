"""Where the archive of Java classes is, and what a JVM is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ducklake_spark.session.archive import archive_path, with_archive

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


def test_options_of_the_user_stay() -> None:
    assert with_archive("-Xss4m", HERE).startswith(f"-Xss4m -XX:SharedArchiveFile={HERE} ")
    assert with_archive("", HERE).startswith("-XX:SharedArchiveFile=")


@pytest.mark.parametrize(
    "own", ["-XX:SharedArchiveFile=/mine.jsa", "-XX:ArchiveClassesAtExit=/mine.jsa"]
)
def test_an_archive_of_the_users_own_counts(own: str) -> None:
    assert with_archive(own, HERE) == own
