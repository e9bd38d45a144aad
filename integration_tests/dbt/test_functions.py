"""Function resources, which have no place in a lake: the user is told so."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.functions.test_udfs import (
    ErrorForUnsupportedType,
    PythonUDFEntryPointRequired,
    PythonUDFNotSupported,
    PythonUDFRuntimeVersionRequired,
    UDFsBasic,
)
from dbt.tests.util import run_dbt_and_capture


class TestUDFsAreRefused(UDFsBasic):
    def test_udfs(self, project: Any, sql_event_catcher: Any) -> None:
        _, log = run_dbt_and_capture(["build"], expect_pass=False)
        assert "Write it as a dbt macro" in log


class TestErrorForUnsupportedType(ErrorForUnsupportedType):
    pass


class TestPythonUDFNotSupported(PythonUDFNotSupported):
    pass


class TestPythonUDFRuntimeVersionRequired(PythonUDFRuntimeVersionRequired):
    pass


class TestPythonUDFEntryPointRequired(PythonUDFEntryPointRequired):
    pass
