"""The documentation builds without a network, and knows every error."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ducklake_spark import errors
from ducklake_spark.spec.options import OPTION_NAMES
from ducklake_spark.sql.procedures import PROCEDURES

ROOT = Path(__file__).parents[1]


def test_every_link_leads_somewhere(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", tmp_path)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    fetched = re.compile(r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css|woff2?)"')
    pages = list(tmp_path.rglob("*.html"))
    assert pages
    assert [p.name for p in pages if fetched.search(p.read_text(encoding="utf-8"))] == []


def test_every_error_says_what_to_do() -> None:
    codes = {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.DuckLakeError)
    }
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (DL\d+)$", page, re.MULTILINE)) == codes


def _rows(page: str) -> dict[str, str]:
    """The rows of a page's tables by each name in code that their first cell has."""
    lines = re.findall(r"^\| (`.*?) \|.*$", page, re.MULTILINE)
    rows = re.findall(r"^(\| `.*)$", page, re.MULTILINE)
    return {
        name: row
        for cell, row in zip(lines, rows, strict=True)
        for name in re.findall(r"`([^`]+)`", cell)
    }


def test_the_reference_has_every_procedure_and_option() -> None:
    rows = _rows((ROOT / "docs" / "reference.md").read_text(encoding="utf-8"))
    assert rows.keys() >= OPTION_NAMES
    for name, procedure in PROCEDURES.items():
        for parameter in procedure.signature.parameters:
            assert f"`{parameter.name}`" in rows[name], name
