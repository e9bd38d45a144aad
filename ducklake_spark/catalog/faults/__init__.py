"""Looks for what is wrong in a catalog: rows that break a rule of the format or each other.

A check is a narrow query for rows that should not be there (`check.Check`), or a function where
only Python can tell. Nothing here changes anything.
"""

from ducklake_spark.catalog.faults.find import find_faults, relation_names

__all__ = ["find_faults", "relation_names"]
