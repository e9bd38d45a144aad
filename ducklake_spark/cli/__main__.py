"""`python -m ducklake_spark.cli` is `ducklake`."""

import sys

from ducklake_spark.cli.main import main

sys.exit(main())
