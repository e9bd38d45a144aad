"""A profile of dbt's as the settings of a lake: profiles.yml, found and read as dbt does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import yaml
from jinja2.sandbox import SandboxedEnvironment
from yaml.parser import ParserError
from yaml.scanner import ScannerError

from ducklake_spark.cli.connection import Connection
from ducklake_spark.config import parse_attached, parse_paths, refuse_unknown
from ducklake_spark.errors import ConfigError
from ducklake_spark.session import SparkSettings

# Those of dbt's adapter, and the two that are dbt's own.
SETTINGS = (
    "type", "threads", "catalog", "data_path", "metadata_schema", "database", "schema",
    "spark_master", "spark_remote", "spark_config", "attach", "author",
    "allow_paths",
)  # fmt: skip
_HINT = "Name a lake with --catalog, or see --profile, --target and --profiles-dir."


def read_profile(profile: str | None, target: str | None, folder: Path | None) -> Connection:
    """The settings of one output of a profile."""
    path = _file(folder)
    profiles = _loaded(path)
    name = profile or _project_profile() or _only_one(profiles, path)
    found = profiles.get(name)
    if not isinstance(found, dict) or not isinstance(found.get("outputs"), dict):
        raise ConfigError(
            f"{path} has no profile {name!r} with outputs.",
            hint=f"Its profiles are: {', '.join(map(str, profiles)) or 'none'}.",
        )
    outputs = found["outputs"]
    wanted = target or _rendered(found.get("target", "default"), path)
    if not isinstance(outputs.get(wanted), dict):
        raise ConfigError(
            f"The profile {name!r} of {path} has no output {wanted!r}.",
            hint=f"Its outputs are: {', '.join(map(str, outputs))}.",
        )
    return _connection(_rendered(outputs[wanted], path), f"{name}.{wanted} of {path}")


# --- the file ---


def _file(folder: Path | None) -> Path:
    given = folder or (Path(text) if (text := os.environ.get("DBT_PROFILES_DIR")) else None)
    places = [given] if given else [Path.cwd(), Path.home() / ".dbt"]
    for place in places:
        if (place / "profiles.yml").is_file():
            return place / "profiles.yml"
    looked = " or ".join(map(str, places))
    raise ConfigError(f"There is no profiles.yml in {looked}.", hint=_HINT)


def _loaded(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.MarkedYAMLError as error:
        # Without the exception: its text quotes the line, which may hold a password.
        raise ConfigError(f"{path} cannot be read: {_yaml_problem(error)}.") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path} does not hold profiles by name.")
    return found


def _yaml_problem(error: yaml.MarkedYAMLError) -> str:
    """What is wrong and where, in words that are YAML's alone."""
    problem = "it is not YAML that profiles are made of"
    if isinstance(error, (ScannerError, ParserError)) and error.problem:
        problem = error.problem.partition(" handle ")[0]  # a name from the file would follow
    if error.problem_mark is None:
        return problem
    return (
        f"{problem}, in line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}"
    )


def _project_profile() -> str | None:
    project = Path.cwd() / "dbt_project.yml"
    name = _loaded(project).get("profile") if project.is_file() else None
    return str(name) if name else None


def _only_one(profiles: Mapping[str, Any], path: Path) -> str:
    names = [name for name in profiles if name != "config"]
    if len(names) == 1:
        return names[0]
    if not names:
        raise ConfigError(f"{path} has no profiles.", hint=_HINT)
    raise ConfigError(
        f"{path} has several profiles.", hint=f"Name one with --profile: {', '.join(names)}."
    )


# --- what it says ---


def _env_var(name: str, default: str | None = None) -> str:
    found = os.environ.get(name, default)
    if found is None:
        raise ConfigError(f"profiles.yml asks for the environment variable {name}, which is unset.")
    return found


def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    environment.globals["env_var"] = _env_var
    for name in ("as_text", "as_native", "as_bool", "as_number"):
        # YAML reads what was rendered once more: that makes numbers and truth of texts.
        environment.filters[name] = lambda value: value
    return environment


def _rendered(value: Any, path: Path) -> Any:
    """The value with its templates filled in."""
    if isinstance(value, dict):
        return {key: _rendered(item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [_rendered(item, path) for item in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    try:
        return _environment().from_string(value).render()
    except jinja2.TemplateError as error:
        raise ConfigError(f"A template in {path} cannot be filled in: {error}") from error


def _connection(output: Mapping[str, Any], where: str) -> Connection:
    kind = output.get("type")
    if kind != "ducklake":
        raise ConfigError(f"{where} is of type {kind!r} and not ducklake.", hint=_HINT)
    refuse_unknown(output, SETTINGS, where)
    config = output.get("spark_config") or {}
    attach = output.get("attach") or []
    if not isinstance(config, dict) or not isinstance(attach, list):
        raise ConfigError(f"{where}: spark_config is a mapping, and attach is a list.")
    return Connection(
        str(output.get("catalog") or "sqlite:lake/catalog.sqlite"),
        _text(output.get("data_path")),
        _text(output.get("metadata_schema")),
        str(output.get("database") or "lake"),
        str(output.get("schema") or "main"),
        _text(output.get("author")),
        SparkSettings(
            str(output.get("spark_master") or "local[*]"),
            _text(output.get("spark_remote")),
            {str(key): _setting(value) for key, value in config.items()},
        ),
        tuple(parse_attached(entry) for entry in attach),
        allow_paths=parse_paths(output.get("allow_paths"), where),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _setting(value: object) -> str:
    """Spark's spelling of a value of YAML's."""
    return str(value).lower() if isinstance(value, bool) else str(value)
