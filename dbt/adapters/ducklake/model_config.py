"""Reading a model's configs: each of the type it must have, and all that is wrong told at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from dbt_common.exceptions import CompilationError


class Configs:
    """Values by name, each of the type it must have; what is wrong is kept for later."""

    def __init__(
        self, values: Mapping[str, Any], at: str = "", problems: list[str] | None = None
    ) -> None:
        self.values = values
        self.at = at
        self.problems: list[str] = [] if problems is None else problems

    def part(self, values: Mapping[str, Any], at: str) -> Configs:
        """Values that are inside these."""
        return Configs(values, f"{at}.", self.problems)

    def wrong(self, problem: str) -> None:
        self.problems.append(f"{self.at}{problem}")

    def name_unknown(self, names: Iterable[str], known: Iterable[str], what: str) -> None:
        for name in sorted(set(names) - set(known)):
            near = get_close_matches(name, known, n=1)
            self.wrong(f"{name} is no {what}" + (f"; is {near[0]} meant?" if near else ""))

    def _typed(self, name: str, kind: Any, wanted: str) -> Any:
        value = self.values.get(name)
        if value is None or isinstance(value, kind):
            return value
        self.wrong(f"{name} must be {wanted}, not {value!r}")
        return None

    def text(self, name: str) -> str | None:
        found: str | None = self._typed(name, str, "a text")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._typed(name, (str, list, tuple), "a list of texts") or ()
        items = (value,) if isinstance(value, str) else tuple(value)
        if all(isinstance(item, str) for item in items):
            return items
        self.wrong(f"{name} must be a list of texts, not {value!r}")
        return ()

    def mapping(self, name: str) -> dict[str, Any]:
        return dict(self._typed(name, Mapping, "a dictionary") or {})

    def expressions(self, name: str) -> dict[str, str]:
        return {column: str(expression) for column, expression in self.mapping(name).items()}

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        if str(value).lower() in ("true", "false"):  # as a variable or the environment gives it
            return str(value).lower() == "true"
        self.wrong(f"{name} must be true or false, not {value!r}")
        return False

    def either(self, one: str, other: str) -> tuple[str, ...]:
        """The condition that goes by two names."""
        return tuple(text for text in (self.text(self._named(one, other)),) if text)

    def texts_of_either(self, one: str, other: str) -> tuple[str, ...]:
        """The texts that go by two names."""
        return self.texts(self._named(one, other))

    def _named(self, one: str, other: str) -> str:
        if self.values.get(one) and self.values.get(other):
            self.wrong(f"{one} and {other} are two names of the same: set one")
        return one if self.values.get(one) else other

    def tell_all(self, what: str) -> None:
        """One error with all that is wrong, if anything is."""
        if self.problems:
            raise CompilationError(
                f"The configs of {what} are wrong:"
                + "".join(f"\n  - {problem}" for problem in self.problems)
            )
