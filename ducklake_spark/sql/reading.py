"""How a session's settings make Spark read the text of one statement."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ducklake_spark.errors import InvalidDefinitionError
from ducklake_spark.session import Session

# The settings that change what names and literals mean, each with the meaning that pruning knows.
_MEANINGS = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
}
_VARIABLE = re.compile(r"\$\{\S+?\}")


@dataclass(slots=True)
class Reading:
    """The settings that matter, each asked for once: on Spark Connect that is a round trip."""

    session: Session
    _is_known: bool | None = None
    _zone: str | None = None

    @property
    def time_zone(self) -> str:
        """The time zone in which Spark reads times without one."""
        if self._zone is None:
            self._zone = self.session.spark.conf.get("spark.sql.session.timeZone") or "UTC"
        return self._zone

    @property
    def is_known(self) -> bool:
        """Whether Spark gives names and literals the meaning that `sql.pruning` gives them."""
        if self._is_known is None:
            found = self.session.settings(*_MEANINGS)
            self._is_known = all(
                (value or _MEANINGS[key]).lower() == _MEANINGS[key] for key, value in found.items()
            )
        return self._is_known


def reject_variables(text: str, what: str) -> None:
    """Reject a text that a lake is to keep if Spark would put settings of each session into it."""
    if _VARIABLE.search(text):
        raise InvalidDefinitionError(
            f"Cannot keep ${{…}} in {what}: Spark replaces it with a setting of the session.",
            hint="Write the value itself.",
        )
