"""A standalone Spark cluster on this machine: one process for the master and each worker.

A worker can become blind to a folder. It runs in its own mount namespace, in which another file
system then covers the folder: no other process sees what the tasks of this worker write there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyspark

from ducklake_spark.session import SparkSettings

T = TypeVar("T")

HOME = Path(pyspark.__file__).parent
_PATIENCE_S = 90
_CONFIG = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A short query starts only when all workers can take part in it, and is not left to one task.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{_PATIENCE_S}s",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
# $1 is the folder that the worker may become blind to, $2 a second way to its content.
_OWN_MOUNTS = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


def can_be_blind() -> bool:
    """Whether this user may give a process its own mounts."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return False
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@dataclass
class Worker:
    """A worker of a cluster, which can become blind to a folder."""

    process: subprocess.Popen[bytes]
    folder: Path | None = None
    behind: Path | None = None

    @contextmanager
    def blinded(self) -> Iterator[None]:
        """Let the worker see a copy of the folder for a while, and write to that copy."""
        copy = f"mount -t tmpfs tmpfs '{self.folder}' && cp -a '{self.behind}/.' '{self.folder}'"
        self._run(copy)
        try:
            yield
        finally:
            self._run(f"umount -l '{self.folder}'")

    def files(self) -> list[str]:
        """List the files that the worker sees in the folder."""
        return self._run(f"find '{self.folder}' -type f").splitlines()

    def _run(self, command: str) -> str:
        there = ["nsenter", "-m", "-t", str(self.process.pid), "sh", "-c", command]
        return subprocess.run(there, check=True, stdout=subprocess.PIPE, text=True).stdout

    @property
    def executors(self) -> list[int]:
        """The process IDs of the worker's executors."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        children = (int(pid) for t in threads for pid in (t / "children").read_text().split())
        return [pid for pid in children if b"CoarseGrainedExecutor" in _command_line(pid)]

    def kill_executors(self) -> None:
        for pid in self.executors:
            os.kill(pid, signal.SIGKILL)


class Cluster:
    """A master, and the workers that are added to it. All of them end with the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers: list[Worker] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.master = f"spark://127.0.0.1:{port}"
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", *arguments)
        self._wait_for("master", r"I have been elected leader")

    def start_worker(self, *, may_be_blind_to: Path | None = None) -> Worker:
        """Start a worker with one core, which can become blind to a folder if one is given."""
        name = f"worker-{len(self._workers)}"
        arguments = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1"]
        arguments += ["--memory", "600m", "--work-dir", str(self._folder / name), self.master]
        behind = self._folder / f"{name}-behind"
        prefix: list[str] = []
        if may_be_blind_to is not None:
            behind.mkdir()
            prefix = ["unshare", "-m", "sh", "-c", _OWN_MOUNTS, "sh"]
            prefix += [str(may_be_blind_to), str(behind)]
        main = "org.apache.spark.deploy.worker.Worker"
        process = self._start(name, main, *arguments, prefix=prefix)
        self._workers.append(Worker(process, may_be_blind_to, behind))
        return self._workers[-1]

    def wait_for_workers(self) -> None:
        """Wait until the master knows all workers that were started."""
        for at in range(len(self._workers)):
            self._wait_for(f"worker-{at}", "Successfully registered with master")

    def _start(
        self, name: str, main: str, *arguments: str, prefix: list[str] | None = None
    ) -> subprocess.Popen[bytes]:
        own = {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*(prefix or []), str(HOME / "bin" / "spark-class"), main, *arguments],
                env=os.environ | own,
                stdout=log,
                stderr=log,
            )

    def _wait_for(self, name: str, pattern: str) -> None:
        log = self._folder / f"{name}.log"
        wait_until(lambda: re.search(pattern, log.read_text(errors="replace")), f"{pattern}: {log}")

    def settings(self, **config: str) -> SparkSettings:
        """How to connect to the cluster as a driver that has all of its cores."""
        cores = {"spark.cores.max": str(len(self._workers))}
        return SparkSettings(master=self.master, config=_CONFIG | cores | config)

    def close(self) -> None:
        for process in (*(worker.process for worker in self._workers), self._master):
            process.terminate()
        for process in (*(worker.process for worker in self._workers), self._master):
            process.wait()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass
class Driver:
    """A process that connects to a cluster and does what a test asks it to.

    A process has one Spark, and that of the tests is another one.
    """

    settings: SparkSettings
    log: Path
    _process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        script = Path(__file__).with_name("cluster_driver.py")
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(script)],
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.ask("start", master=self.settings.master, config=dict(self.settings.config))

    def ask(self, what: str, **arguments: Any) -> Any:
        """Have the process call one of its functions, and return the result."""
        self.begin(what, **arguments)
        return self.result()

    def begin(self, what: str, **arguments: Any) -> None:
        """Have the process call one of its functions; `result` waits for it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([what, arguments]) + "\n")
        self._process.stdin.flush()

    def result(self) -> Any:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        assert answer, self.log.read_text(errors="replace")[-4000:]
        return json.loads(answer)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


def wait_until(is_done: Callable[[], T | None], what: str) -> T:
    """Ask again and again until there is an answer."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if answer := is_done():
            return answer
        time.sleep(0.05)
    raise TimeoutError(what)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended
        return b""
