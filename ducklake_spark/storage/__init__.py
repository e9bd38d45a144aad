"""The lake's files: file systems, Parquet footers, delete files."""
