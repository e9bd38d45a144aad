"""Functions that both engines have, or seem to, and that mean different things."""

from __future__ import annotations

# Functions that sqlglot does not know and that DuckDB has, with the same meaning.
SHARED = {"arg_max_null", "arg_min_null", "bin", "make_date", "map_concat", "map_entries",
          "map_values", "mean", "now", "printf", "range", "url_decode", "url_encode"}  # fmt: skip

_LACKS = "It has no {}, or not so."
_WHO = "Who asks, and where, is another there."
_ROUGH = "Its estimates are others."

# By the name of sqlglot's class, in small letters.
DIFFERENT: dict[str, str] = {
    name.lower(): _LACKS.format(name.lower())
    for name in ("Aliases", "Elt", "Inline", "Nanvl", "Overlay", "PosexplodeOuter", "Rint", "Stack",
                 "StrToMap", "SubstringIndex", "WidthBucket", "SafeAdd", "SafeSubtract",
                 "SafeMultiply", "Negative", "Shuffle", "Getbit", "RegexpSubstr", "Sec", "Any",
                 "LastValue", "ParseJSON", "CurrentTimezone", "Randn", "Randstr",
                 "BitmapConstructAgg", "Csc")
} | {
    "approxdistinct": _ROUGH,
    "approxquantile": _ROUGH,
    "arrayexcept": "Its array_except leaves NULL out, and orders what is left in another way.",
    "arrayszip": "Its arrays_zip names the fields in another way.",
    "corr": "Its corr makes NaN of one row, not NULL.",
    "currentcatalog": _WHO,
    "currentdatabase": _WHO,
    "currentschema": _WHO,
    "currentuser": _WHO,
    "fromjson": "Its from_json takes another description of the type.",
    "jsonformat": "Its to_json writes fields that are NULL, Spark's leaves them out.",
    "kurtosis": "Its kurtosis is that of a sample, Spark's that of all.",
    "sessionuser": _WHO,
    "skewness": "Its skewness is that of a sample, Spark's that of all.",
    "typeof": "Its types have other names.",
}  # fmt: skip

# By name, of those that sqlglot does not know.
CALLS: dict[str, str] = {
    "current_database": _WHO,
    "current_schema": _WHO,
    "current_user": _WHO,
    "hash": "Its hash is computed in another way.",
    "json_array_length": "It finds 0 values in what is no list, Spark NULL.",
    "session_user": _WHO,
    "time_bucket": "Its time_bucket starts at another time.",
    "user": _WHO,
    "version": _WHO,
    "xxhash64": "It has no xxhash64, or not so.",
}
