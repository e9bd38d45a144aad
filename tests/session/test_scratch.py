"""Scratch folders: removed on close, at the end of the process, or by the next process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ducklake_spark.session.scratch import Scratch, remove_folders_of_dead_processes

OWNER = """
import sys
from ducklake_spark.session.scratch import Scratch
scratch = Scratch()
print(scratch.place("text", "sub", "file"), flush=True)
if sys.argv[1] == "wait":
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that no other process uses."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def start_owner(how: str) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", OWNER, how]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    return owner, Path(owner.stdout.readline().strip())


def test_a_folder_of_a_killed_process_is_removed_and_one_in_use_stays(folder: Path) -> None:
    killed, left = start_owner("wait")
    alive, kept = start_owner("wait")
    mine = Scratch()
    own = mine.place("mine", "file")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert left.joinpath("sub", "file").read_text() == "text"
    remove_folders_of_dead_processes()
    assert not left.parent.exists()
    assert kept.joinpath("sub", "file").exists()
    assert own.joinpath("file").exists()
    alive.communicate()
    mine.close()
    assert list(folder.iterdir()) == []


def test_a_process_that_ends_without_closing_leaves_nothing(folder: Path) -> None:
    owner, _ = start_owner("end")
    owner.communicate()
    assert list(folder.iterdir()) == []


def test_folders_that_are_not_ours_stay(folder: Path) -> None:
    prefix = Scratch().place("text", "file").parent.name[:-8]
    other = folder / f"{prefix}without-lock"
    other.mkdir()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    elsewhere.joinpath("owner.lock").touch()
    link = folder / f"{prefix}link"
    link.symlink_to(elsewhere)
    remove_folders_of_dead_processes()
    assert {other, elsewhere, link} <= set(folder.iterdir())
    assert elsewhere.joinpath("owner.lock").exists()


def test_the_end_of_a_fork_removes_nothing() -> None:
    scratch = Scratch()
    kept = scratch.place("text", "file")
    child = os.fork()
    if child == 0:
        scratch.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert kept.joinpath("file").exists()
    scratch.close()
    assert not kept.exists()


def test_equal_texts_share_a_folder_and_a_block_removes_its_own() -> None:
    scratch = Scratch()
    first = scratch.keep("a", "file")
    with scratch.emptied():
        assert scratch.keep("a", "file") == first
        second = scratch.keep("b", "file")
        assert second.exists()
    assert first.exists()
    assert not second.exists()
    assert scratch.keep("b", "file") == second
    assert second.joinpath("file").read_text() == "b"
    scratch.close()
