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
                 "ParseJSON", "CurrentTimezone", "Randn", "Randstr",
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

# Those of sqlglot's classes whose values were found to be the same, once said as we say them.
COMPARED = frozenset(
    """
    _explodeouter abs acos acosh addmonths and anyvalue argmax argmin array arrayagg arrayappend
    arraycompact arraycontains arraydistinct arrayfilter arrayinsert arrayintersect arraymax
    arraymin arrayposition arrayprepend arrayremove arraysize arrayslice arraysort arraytostring
    arrayuniqueagg ascii asin asinh atan atan2 atanh avg bitlength bitmapbitposition
    bitmapbucketnumber bitwiseandagg bitwisecount bitwiseoragg bitwisexoragg case cast cbrt ceil
    chr coalesce concat concatws contains converttimezone cos cosh cot count countif covarpop
    covarsamp cumedist currentdate currenttimestamp datediff datefromunixdate datetrunc day
    dayname dayofmonth dayofweek dayofyear decode decodecase degrees denserank encode endswith
    equalnull exists exp explode explodeouter extract factorial first firstvalue flatten floor
    format frombase64 generateseries greatest groupconcat grouping groupingid hex hour if initcap
    isnan jsonextractscalar jsonkeys lag last lastday lastvalue lead least left length levenshtein
    ln localtimestamp log logicaland logicalor lower map mapcontainskey mapfromentries mapkeys max
    md5 median min minute mode month monthname monthsbetween nextday nthvalue ntile nullif nvl2 or
    pad percentilecont percentiledisc percentrank pi posexplode pow quantile quarter radians rand
    rank reduce regexpcount regexpextract regexpextractall regexpinstr regexplike regexpreplace
    regexpsplit regravgx regravgy regrcount regrintercept regrr2 regrslope regrsxx regrsxy regrsyy
    repeat replace reverse right round rownumber safedivide second sha sha2 sign sin sinh space
    splitpart sqrt startswith stddev stddevpop stddevsamp strposition strtotime strtounix struct
    substring sum tan tanh timestampadd timestampdiff timestampfromparts timestamptrunc
    timestrtotime timetostr tobase64 tobinary transform translate trim trycast tsordsadd
    tsordstodate unhex unixdate unixmicros unixmillis unixseconds unixtostr upper uuid variance
    variancepop varmap weekofyear xor year
    """.split()
)
