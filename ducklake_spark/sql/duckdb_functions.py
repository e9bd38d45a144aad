"""Lists the functions of DuckDB that have an exact form in Spark.

A view, default or sort key of DuckDB may call only these: other functions may exist in Spark under
the same name and return something else. integration_tests/spark/test_views_of_duckdb.py compares
the results.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import UnsupportedError

# By the name of sqlglot's class, in small letters.
_KNOWN = frozenset(
    """
    abs acos and anyvalue argmax argmin array arrayagg arrayappend arraycontains arrayfilter
    arraymax arraymin arrayprepend arraysize arraysort arraytostring ascii asin atan atan2 avg
    bitlength bitwiseandagg bitwiseoragg bitwisexoragg case cast cbrt ceil chr coalesce concat
    concatws contains cos count countif covarpop covarsamp cumedist currentdate currenttimestamp
    dateadd datediff datefromparts datetrunc day dayname dayofmonth dayofweek dayofweekiso
    dayofyear degrees denserank encode endswith exists exp explode extract first firstvalue
    floor frombase64 generateseries greatest groupconcat grouping hex hour if isnan
    jsonextractscalar jsonkeys lag last lastday lastvalue lead least left length ln log
    logicaland logicalor lower map mapfromentries mapkeys max md5 median min minute mode
    month monthname nthvalue ntile nullif or pad percentilecont
    percentiledisc percentrank pi pow quantile quarter radians rand rank regexpextract
    regexpextractall regexpfullmatch regexplike regexpreplace regexpsplit repeat replace reverse
    right round rownumber second sha sha2 sign sin split splitpart sqrt startswith stddev
    stddevpop stddevsamp strposition strtotime struct structextract substring sum tan
    timestampfromparts timestamptrunc timetostr tobase64 todays transform translate trim trunc
    trycast unhex unixtotime unnest upper uuid variance variancepop week weekofyear xor year
    """.split()
)
# By name, of those for which sqlglot has no class. Those that DuckDB does not have are Spark's, in
# a default that this package wrote.
_KNOWN_NAMES = frozenset(
    """
    arg_max_null arg_min_null base64 bigint bin bit_count cardinality count_star date_part
    datepart double epoch_us int like_escape list_apply list_value map map_entries map_values
    monotonically_increasing_id not_like_escape now octet_length range string struct_extract
    struct_pack timestamp_seconds timezone to_days to_hours to_minutes to_months to_quarters
    to_seconds to_weeks to_years today trunc url_decode weekday
    """.split()
)
# What DuckDB stores with its schema: `main.date_part('year', d)` is EXTRACT(year FROM d).
STORED_IN_MAIN = frozenset(
    """
    array_slice contains date_part like_escape list_apply list_extract list_filter list_slice
    list_transform list_value ltrim map not_like_escape overlay position rtrim row struct_extract
    struct_pack substring timezone trim
    """.split()
)


def reject_unknown_calls(tree: exp.Expr) -> None:
    """Raise for a function that is not known to return the same in Spark.

    A name with a schema is that of a function of a lake, which is looked up later.
    """
    for call in tree.find_all(exp.Func):
        if isinstance(call, exp.Anonymous):
            if isinstance(call.parent, exp.Dot):
                continue
            name, is_known = call.name.lower(), call.name.lower() in _KNOWN_NAMES
        else:
            name = call.sql_name().lower()
            is_known = type(call).__name__.lower() in _KNOWN
        if not is_known:
            raise UnsupportedError(
                f"the function {name} in {call.sql(dialect='duckdb')} is not known to return the "
                "same in Spark"
            )
