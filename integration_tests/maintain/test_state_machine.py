"""One lake, two of our clients and DuckDB: no row is lost, whatever they do in whatever order."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from ducklake_spark.session import Session
from support.budget import FULL, seeds
from support.lakes import LakeAddress
from support.machine.upkeep_rules import LakeMachine

_STEPS = 30 if FULL else 10
_LAKES = [*(("sqlite", seed) for seed in seeds(20, 200)), ("postgres", 1000)]


@pytest.mark.timeout(1800)  # Hypothesis shrinks a failure, which runs the machine again and again
@pytest.mark.parametrize(("kind", "seed"), _LAKES)
def test_every_client_reads_what_the_model_predicts(
    session: Session, make_lake: Callable[[str], LakeAddress], kind: str, seed: int
) -> None:
    class Seeded(LakeMachine):
        pass

    Seeded.session = session
    Seeded.make_address = staticmethod(lambda: make_lake(kind))
    one_example = settings(
        max_examples=1,
        stateful_step_count=_STEPS,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(Seeded), settings=one_example)
    except Exception as error:
        error.add_note(f"Again: DUCKLAKE_TEST_FIRST_SEED={seed} DUCKLAKE_TEST_SEEDS=1 pytest …")
        raise
