"""Typed settings of a lake and its Spark, read from the strings that users write.

A catalog is named exactly as DuckDB's ATTACH takes it after ``ducklake:``, or by SQLAlchemy URL.
"""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar

from ducklake_spark.errors import ConfigError, UnsupportedCatalogError

_URL = re.compile(r"^([A-Za-z][A-Za-z0-9_]*)(?:\+[A-Za-z0-9_]+)?://(.*)$", re.DOTALL)
_PREFIX = re.compile(r"^([A-Za-z][A-Za-z0-9_]+):(.*)$", re.DOTALL)
# Whoever begins with one of libpq's words forgot the prefix: no file gets the password as its name.
_CONNINFO = re.compile(
    r"\s*(dbname|host|hostaddr|port|user|password|service|passfile|sslmode)\s*=", re.IGNORECASE
)
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # NUL, and halves of surrogate pairs
_OF_ATTACHED = (
    "database", "catalog", "data_path", "metadata_schema", "read_only", "allow_paths",
)  # fmt: skip
_HINT = "Write sqlite:FILE, postgres:dbname=… host=… user=…, or the path of a DuckDB catalog file."


class Secret:
    """Text that no message, log or `repr` may show.

    No dataclass, for `dataclasses.asdict` would unwrap it.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @property
    def value(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A catalog in a SQLite file."""

    path: Path
    kind: ClassVar[str] = "sqlite"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A catalog in PostgreSQL; `conninfo` is what libpq takes and may hold a password."""

    conninfo: Secret
    kind: ClassVar[str] = "postgres"


@dataclass(frozen=True, slots=True)
class DuckDBAddress:
    """A catalog in a DuckDB file, which one process at a time can open."""

    path: Path
    kind: ClassVar[str] = "duckdb"


CatalogAddress = SqliteAddress | PostgresAddress | DuckDBAddress


def parse_catalog(text: str) -> CatalogAddress:
    """The catalog database that a user's string names."""
    text = text.strip().removeprefix("ducklake:")
    if not text:
        raise ConfigError("The catalog is empty.", hint=_HINT)
    if _NO_TEXT.search(text):
        raise ConfigError("The catalog's address holds a character that no name has.", hint=_HINT)
    if _CONNINFO.match(text):
        raise ConfigError("The catalog's address does not say of what kind it is.", hint=_HINT)
    if (match := _URL.match(text)) is not None:
        return _from_url(match.group(1).lower(), match.group(2))
    if (match := _PREFIX.match(text)) is not None:
        return _from_prefix(match.group(1).lower(), match.group(2))
    return DuckDBAddress(_file(text))


def _file(path: str) -> Path:
    if path == ":memory:":
        raise ConfigError(
            "A catalog in memory would be gone with its first connection.", hint=_HINT
        )
    # DuckDB does the same with a leading tilde, in the names of its own files.
    return Path(path).expanduser() if path.startswith("~/") else Path(path)


def _from_url(scheme: str, rest: str) -> CatalogAddress:
    if scheme in ("postgres", "postgresql"):
        return PostgresAddress(Secret(f"postgresql://{rest}"))
    if scheme in ("sqlite", "duckdb"):
        # SQLAlchemy's convention: three slashes for a relative path, four for an absolute one.
        named, _, settings = rest.partition("?")
        path = named.removeprefix("/")
        if not path:
            raise ConfigError(f"The {scheme} catalog URL names no file.", hint=_HINT)
        if settings:
            raise ConfigError(
                f"The {scheme} catalog URL has settings after its ?, and none are known.",
                hint=_HINT,
            )
        return SqliteAddress(_file(path)) if scheme == "sqlite" else DuckDBAddress(_file(path))
    raise _unsupported(scheme)


def _from_prefix(prefix: str, rest: str) -> CatalogAddress:
    match prefix:
        case "sqlite" | "duckdb":
            if not rest:
                raise ConfigError(f"{prefix}: names no file.", hint=_HINT)
            return SqliteAddress(_file(rest)) if prefix == "sqlite" else DuckDBAddress(_file(rest))
        case "postgres" | "postgresql":
            return PostgresAddress(Secret(rest))
        case _:
            raise _unsupported(prefix)


def _unsupported(scheme: str) -> UnsupportedCatalogError:
    if scheme in ("mysql", "mariadb"):
        return UnsupportedCatalogError(
            "MySQL cannot hold the catalog: DuckLake's own documentation warns of it, "
            "and commits could be lost.",
            hint="Use PostgreSQL for several writers, or SQLite for one machine.",
        )
    return UnsupportedCatalogError(f"{scheme!r} is not a kind of catalog database.", hint=_HINT)


@dataclass(frozen=True, slots=True)
class Attached:
    """A lake beside the first one."""

    name: str
    catalog: str = field(repr=False)  # may hold a password
    data_path: str | None = None
    metadata_schema: str | None = None
    read_only: bool = False
    allow_paths: tuple[str, ...] = ()


def parse_paths(value: object, where: str) -> tuple[str, ...]:
    """Return the paths that a profile lists as allow_paths; nothing is an empty list."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(path, str) for path in value):
        raise ConfigError(
            f"allow_paths of {where} must be a list of paths.",
            hint="Write it like this: allow_paths: ['/data/shared/']",
        )
    return tuple(value)


def parse_attached(entry: object) -> Attached:
    """A lake beside the first one, as an entry of a profile's `attach` names it."""
    if not isinstance(entry, Mapping) or not {"database", "catalog"} <= entry.keys():
        raise ConfigError("Each entry of the profile's attach needs a database and a catalog.")
    refuse_unknown(entry, _OF_ATTACHED, "an entry of attach")
    texts = dict(entry)
    allowed = parse_paths(texts.pop("allow_paths", None), "an entry of attach")
    read_only = str(texts.pop("read_only", False)).lower()  # a template gives a text
    if read_only not in ("true", "false"):
        raise ConfigError("read_only of an entry of attach must be true or false.")
    for key, value in texts.items():
        if not isinstance(value, str) and (value is not None or key in ("database", "catalog")):
            # Its kind alone: the value may hold a password.
            kind = type(value).__name__
            raise ConfigError(f"{key} of an entry of attach must be a text, not {kind}.")
    return Attached(
        texts["database"],
        texts["catalog"],
        texts.get("data_path"),
        texts.get("metadata_schema"),
        read_only == "true",
        allowed,
    )


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs: a master to start in this process, or a Connect server to talk to."""

    master: str = "local[*]"
    remote: str | None = field(default=None, repr=False)  # may hold a token
    config: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def address(self) -> str:
        """Where that Spark is, to show to people."""
        return without_token(self.remote) if self.remote else self.master


def without_token(remote: str) -> str:
    """The address alone of a Connect server: what follows it may hold a token."""
    return re.split("/?;", remote, maxsplit=1)[0]


def system_user() -> str | None:
    """The operating system's name of who runs this, for the author of commits."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in some containers
        return None


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise for a setting that is none: else a typo would be a default."""
    names = list(known)
    for name in sorted(set(given) - set(names)):
        near = get_close_matches(name, names, n=1)
        raise ConfigError(
            f"{name} is no setting of {what}"
            + (f"; is {near[0]} meant?" if near else f". There are: {', '.join(names)}.")
        )


def refuse_duckdb_settings(keys: Iterable[str]) -> None:
    """Reject settings of DuckDB's extension: Spark would store them, and nothing would use them."""
    for key in keys:
        if key.lower().startswith("ducklake_"):
            raise ConfigError(
                f"{key} is a setting of DuckDB and has no effect in Spark.",
                hint="Leave it out. A commit is repeated for up to "
                f"{CommitSettings().give_up_after_s:.0f} seconds.",
            )


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """How long a commit keeps trying when others commit too."""

    max_attempts: int = 100
    # Chosen so that of sixteen writers of one table 99 in 100 commits land within ten attempts.
    first_wait_ms: float = 40.0
    longest_wait_ms: float = 1000.0
    backoff: float = 2.0
    give_up_after_s: float = 120.0
