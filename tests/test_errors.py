"""What every error of this package promises: a stable code, a hint, and to survive a pickle."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator

import pytest

from ducklake_spark import errors
from ducklake_spark.errors import (
    ConfigError,
    DuckLakeError,
    MissingExtraError,
    NotFoundError,
    PartlyDoneError,
    StorageError,
)

# Whoever documents or handles an error by its code relies on it: a code never changes its class.
CODES = {
    "DuckLakeError": "DL000",
    "ConfigError": "DL101",
    "MissingExtraError": "DL102",
    "CatalogError": "DL200",
    "CatalogUnavailableError": "DL201",
    "CatalogVersionError": "DL202",
    "CatalogNotFoundError": "DL203",
    "DataPathError": "DL204",
    "UnsupportedCatalogError": "DL205",
    "CatalogDamagedError": "DL206",
    "CatalogAccessError": "DL207",
    "CatalogTimeoutError": "DL208",
    "NotFoundError": "DL301",
    "AlreadyExistsError": "DL302",
    "InvalidDefinitionError": "DL303",
    "UnsupportedFeatureError": "DL304",
    "IncompatibleFileError": "DL305",
    "ChangedRowsError": "DL403",
    "CommitError": "DL500",
    "CommitConflictError": "DL501",
    "CommitContentionError": "DL502",
    "CommitUnknownError": "DL503",
    "CommitMessageRequiredError": "DL504",
    "TransactionStateError": "DL505",
    "AfterCommitError": "DL506",
    "PartlyDoneError": "DL507",
    "SnapshotExpiredError": "DL508",
    "StorageError": "DL601",
    "RowCountError": "DL602",
    "RefusedError": "DL700",
    "ReadOnlyError": "DL701",
    "PathOutsideLakeError": "DL702",
    "UntrustedSqlError": "DL703",
    "UnwritableVersionError": "DL704",
}


def _all_classes(root: type[DuckLakeError] = DuckLakeError) -> Iterator[type[DuckLakeError]]:
    yield root
    for child in root.__subclasses__():
        yield from _all_classes(child)


# Tests of other modules may define errors of their own.
CLASSES = sorted({c for c in _all_classes() if c.__module__ == errors.__name__}, key=str)


def _made(cls: type[DuckLakeError]) -> DuckLakeError:
    if issubclass(cls, MissingExtraError):
        return cls("A PostgreSQL catalog", "postgres")
    if issubclass(cls, NotFoundError):
        return cls("Table main.orders", near=["order", "people"], wanted="orders")
    if issubclass(cls, PartlyDoneError):
        return cls("merge_adjacent_files", {"main.t": ConfigError("No.", hint="Do something.")})
    if issubclass(cls, StorageError):
        return cls("lake/t.parquet", "is not there", hint="Do something.", is_missing=True)
    return cls("It went wrong.", hint="Do something.")


def test_every_class_keeps_its_code() -> None:
    codes = {cls.__name__: cls.code for cls in CLASSES}
    assert {name: codes.get(name) for name in CODES} == CODES


def test_no_two_classes_share_a_code() -> None:
    codes = [cls.code for cls in CLASSES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_ends_in_error_and_says_what_it_means(cls: type[DuckLakeError]) -> None:
    assert cls.__name__.endswith("Error")
    assert cls.__doc__
    assert cls.__doc__ != (cls.__mro__[1].__doc__ or "")
    assert re.fullmatch(r"DL\d{3}", cls.code)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_error_shows_code_message_and_hint(cls: type[DuckLakeError]) -> None:
    error = _made(cls)
    assert error.hint
    assert str(error) == f"[{cls.code}] {error.message} {error.hint}"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_error_survives_a_pickle_with_all_it_knows(cls: type[DuckLakeError]) -> None:
    error = _made(cls)
    error.extra = {"snapshot": 7}  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (str(again), again.args, again.__dict__) == (str(error), error.args, error.__dict__)


def test_an_error_without_a_hint_shows_none() -> None:
    assert str(DuckLakeError("It went wrong.")) == "[DL000] It went wrong."


def test_a_missing_name_suggests_the_ones_like_it() -> None:
    error = NotFoundError(
        "Table main.order", near=["orders", "people", "order_items"], wanted="order"
    )
    assert error.message == "Table main.order does not exist."
    assert error.hint == "Did you mean 'orders' or 'order_items'?"
    assert NotFoundError("Column", near=["Name", "ID"], wanted="nam").hint == "Did you mean 'Name'?"


def test_a_missing_name_with_nothing_like_it_suggests_nothing() -> None:
    assert NotFoundError("Table x", near=["orders"], wanted="zzz").hint is None
    assert NotFoundError("Table x", near=["orders"]).hint is None


def test_a_missing_package_names_the_command_that_installs_it() -> None:
    assert 'pip install "dbt-ducklake[postgres]"' in str(_made(MissingExtraError))


def test_wrong_settings_can_be_caught_as_value_errors_and_missing_names_as_lookup_errors() -> None:
    assert issubclass(ConfigError, ValueError)
    assert issubclass(NotFoundError, LookupError)
