"""Stop with one clear sentence unless Python 3.11+ and Java 17+ are here."""

# An old Python must get as far as the message: no newer syntax, no newer library.
# ruff: noqa: PTH118, UP032

import os
import re
import shutil
import subprocess
import sys

PYTHON, JAVA = (3, 11), 17


def find_java():
    """Return the java that Spark would start: JAVA_HOME first, then the PATH."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else shutil.which("java")


def parse_major(banner):
    """Return 8 for `version "1.8.0_392"`, 17 for `version "17.0.15"`, None for anything else."""
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(found.group(1)) if found else None


def complain_about_java():
    """Return what is wrong with this machine's Java, or None."""
    java = find_java()
    remedy = "Install a JDK or JRE {}+, or point JAVA_HOME at one.".format(JAVA)
    if java is None:
        return "Spark needs Java {}+, and there is no `java` on the PATH. {}".format(JAVA, remedy)
    try:
        run = subprocess.run([java, "-version"], stderr=subprocess.PIPE, check=False)
        major = parse_major(run.stderr.decode(errors="replace"))
    except OSError:
        major = None
    if major is None:
        return "Spark needs Java {}+, and {} does not run. {}".format(JAVA, java, remedy)
    if major < JAVA:
        return "Spark needs Java {}+, and {} is Java {}. {}".format(JAVA, java, major, remedy)
    return None


if __name__ == "__main__":
    if sys.version_info < PYTHON:
        sys.exit("dbt-ducklake needs Python 3.11+, and this is {}.{}.".format(*sys.version_info))
    sys.exit(complain_about_java())
