"""A lake as a page to look at: one HTML file that needs nothing else."""

from ducklake_spark.report.page import write_report

__all__ = ["write_report"]
