"""Python models: run in this process, on this Spark, inside the connection's transaction."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.ducklake.cursor import Cursor
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import DataFrame

from ducklake_spark import Lake
from ducklake_spark.errors import DuckLakeError
from ducklake_spark.sql import SPARK_ERRORS, query_error

if TYPE_CHECKING:
    import pandas
    from dbt.adapters.ducklake.connections import DuckLakeConnectionManager

_RESULT = "dbt_python_model"


def run_model(
    connections: DuckLakeConnectionManager, model: dict[str, Any], code: str
) -> AdapterResponse:
    """Run the model's function; what it returns becomes the relation that the code names."""
    connection = connections.begin()
    name = model["unique_id"]
    with connections.exception_handler(code):
        lake: Lake = connection.handle.lake
        frame = _rows(_returned(lake, name, model, code), lake, name)
        frame.createOrReplaceTempView(_RESULT)
        cursor = Cursor(connection.handle)
        statement = code.rpartition("# ducklake: ")[2].strip()
        cursor.execute(f"{statement} as select * from {_RESULT}")
        return connections.get_response(cursor)


def _returned(lake: Lake, name: str, model: dict[str, Any], code: str) -> Any:
    # Other adapters' python models know Spark's session under this name as well.
    namespace: dict[str, Any] = {"__name__": name, "spark": lake.session.spark}
    path = model.get("original_file_path", name)
    exec(compile(code, path, "exec"), namespace)  # noqa: S102 - the user's own model
    if "model" not in namespace:
        raise DbtRuntimeError(f"{path} has no function model(dbt, session).")
    dbt = namespace["dbtObj"](lambda relation: lake.sql(f"select * from {relation}"))
    try:
        return namespace["model"](dbt, lake.session.spark)
    except SPARK_ERRORS as error:
        raise query_error(error) from error
    except (DuckLakeError, DbtRuntimeError):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        at = [frame.lineno or 1 for frame in frames if frame.filename == path]
        # The line itself: its number counts what dbt has put before the model.
        where = f", at {code.splitlines()[at[-1] - 1].strip()!r}" if at else ""
        raise DbtRuntimeError(f"{type(error).__name__}: {error}{where}") from error


def _rows(returned: Any, lake: Lake, name: str) -> DataFrame:
    """What a model may return, as a DataFrame of Spark's."""
    kind = type(returned)
    if kind.__module__.startswith("pyspark.pandas."):
        return _here(returned.to_spark(), lake)
    if isinstance(returned, DataFrame):
        return _here(returned, lake)
    if kind.__module__.partition(".")[0] == "pandas" and not len(returned):
        returned = _typed(returned)
    if kind.__module__.partition(".")[0] in ("pandas", "pyarrow"):
        return lake.session.spark.createDataFrame(returned)
    raise DbtRuntimeError(
        f"The python model {name} returned a {kind.__name__}; it must return a DataFrame of "
        "Spark or pandas, or a table of PyArrow."
    )


def _typed(nothing: pandas.DataFrame) -> pa.Table:
    """A frame without rows by its types, where Spark looks for them in the rows.

    Columns of objects, in which there is none, hold texts far more often than anything else.
    """
    table = pa.Table.from_pandas(nothing, preserve_index=False)
    fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def _here(frame: DataFrame, lake: Lake) -> DataFrame:
    """The frame in the connection's own session: pandas-on-Spark works in Spark's first one."""
    spark = lake.session.spark
    if frame.sparkSession is spark:
        return frame
    name = f"{_RESULT}_{id(frame)}"
    frame.createOrReplaceGlobalTempView(name)
    moved = spark.table(f"global_temp.{name}")
    frame.sparkSession.catalog.dropGlobalTempView(name)
    return moved
