"""Chooses the memory of Spark's driver if the user does not: Java's heap cannot grow later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

DRIVER_MEMORY = "spark.driver.memory"
_SHARE = 4
_LEAST_MB, _MOST_MB = 1024, 8 * 1024
# Memory that a container may use, by the versions of Linux's control groups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def driver_memory(config: Mapping[str, str]) -> dict[str, str]:
    """Return the setting for a quarter of this machine's memory; none if the user has set it."""
    is_set = DRIVER_MEMORY in config or "SPARK_DRIVER_MEMORY" in os.environ
    if is_set or _is_in_defaults():
        return {}
    megabytes = _machine_bytes() // _SHARE // 1024**2
    return {DRIVER_MEMORY: f"{min(max(megabytes, _LEAST_MB), _MOST_MB)}m"}


def _is_in_defaults() -> bool:
    """Return whether a spark-defaults.conf of the user's sets the memory."""
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder is None and (home := os.environ.get("SPARK_HOME")):
        folder = f"{home}/conf"
    path = Path(folder or "", "spark-defaults.conf")
    return folder is not None and path.exists() and DRIVER_MEMORY in path.read_text()


def _machine_bytes() -> int:
    known = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in map(Path, _LIMITS):
        if path.exists() and (text := path.read_text().strip()).isdecimal():
            known.append(int(text))
    return min(known)
