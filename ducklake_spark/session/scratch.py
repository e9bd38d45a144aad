"""A folder for small files that Spark's driver reads, removed at the latest when the process ends.

A process that is killed cannot remove its folder. The next process does so: every folder holds a
file that its owner keeps locked, and the operating system releases the lock with the owner.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import stat
import sys
import tempfile
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":  # where folders of killed processes stay
    import fcntl

_LOCK = "owner.lock"
_log = logging.getLogger(__name__)


class Scratch:
    """The folder of one session, which is created when it is first needed."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._remove_root: weakref.finalize | None = None  # type: ignore[type-arg]
        self._kept: set[Path] = set()

    def place(self, content: str, *path: str) -> Path:
        """Write a text to a file at a path below a new folder; return the folder.

        The caller removes the folder.
        """
        folder = self._opened() / uuid.uuid4().hex
        file = folder.joinpath(*path)
        file.parent.mkdir(parents=True)
        file.write_text(content)
        return folder

    def keep(self, content: str, *path: str) -> Path:
        """Do the same with a folder that stays, for `emptied` or `close` to remove.

        Equal texts share a folder.
        """
        folder = self._opened() / hashlib.sha256(content.encode()).hexdigest()[:32]
        if folder not in self._kept:
            file = folder.joinpath(*path)
            file.parent.mkdir(parents=True)
            file.write_text(content)
            self._kept.add(folder)
        return folder

    def remove(self, folder: Path) -> None:
        """Remove a folder that Spark does not need any more."""
        self._kept.discard(folder)
        shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """Remove the folders that the block has kept."""
        before = set(self._kept)
        try:
            yield
        finally:
            for folder in self._kept - before:
                self.remove(folder)

    def close(self) -> None:
        """Remove everything."""
        if self._remove_root is not None:
            self._remove_root()
        self._root, self._remove_root = None, None
        self._kept.clear()

    def _opened(self) -> Path:
        if self._root is None:
            remove_folders_of_dead_processes()
            self._root = Path(tempfile.mkdtemp(prefix=_prefix()))
            lock = _lock(self._root)
            self._remove_root = weakref.finalize(self, _remove, self._root, lock, os.getpid())
        return self._root


def _prefix() -> str:
    """How the names of folders begin. Locks of other machines that share a disk may be unseen."""
    return f"ducklake-{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-"


def _lock(root: Path) -> int | None:
    """Lock a folder as long as this process lives; return the descriptor that holds the lock."""
    if sys.platform == "win32":
        return None
    # Renamed once it is locked: no other process can find the file without its lock.
    new = root / f"{_LOCK}.new"
    descriptor = os.open(new, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    new.rename(root / _LOCK)
    return descriptor


def _remove(root: Path, lock: int | None, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the owner ends
        return
    shutil.rmtree(root, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def remove_folders_of_dead_processes() -> None:
    """Remove the folders that killed processes of this user left on this machine."""
    if sys.platform == "win32":
        return
    for root in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        with suppress(OSError):  # it is in use, or another process removes it
            _remove_if_dead(root)


def _remove_if_dead(root: Path) -> None:
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _log.info("Removing %s, which a killed process left", root)
        shutil.rmtree(root, ignore_errors=True)
    finally:
        os.close(descriptor)
