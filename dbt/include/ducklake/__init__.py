"""Where dbt finds this adapter's macros."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
