"""What we publish: the sdist, the wheel built from it, and the wheel once it is installed."""

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGED = ("dbt", "ducklake_spark")
KEY_FILES = {
    "dbt/adapters/ducklake/__init__.py",
    "dbt/adapters/ducklake/__version__.py",
    "dbt/adapters/ducklake/py.typed",
    "dbt/include/ducklake/__init__.py",
    "dbt/include/ducklake/dbt_project.yml",
    "ducklake_spark/__init__.py",
    "ducklake_spark/py.typed",
    "ducklake_spark/report/page.html",
}
# dbt-core and dbt-adapters own these.
FOREIGN_FILES = {"dbt/__init__.py", "dbt/adapters/__init__.py", "dbt/include/__init__.py"}

pytestmark = pytest.mark.xdist_group("packaging")


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def checkout_files() -> list[str]:
    """Every file of the checkout that git does not ignore."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = run(*command, cwd=ROOT).split("\0")
    return [name for name in names if name and (ROOT / name).exists()]


@pytest.fixture(scope="module")
def packaged_files(checkout_files: list[str]) -> set[str]:
    files = {name for name in checkout_files if name.startswith(tuple(f"{p}/" for p in PACKAGED))}
    return {name for name in files if not name.endswith("/.gitkeep")}


@pytest.fixture(scope="module")
def dist(checkout_files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is built from it, of a clean copy of the checkout."""
    source = tmp_path_factory.mktemp("checkout")
    for name in checkout_files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    run(sys.executable, "-m", "build", "--no-isolation", cwd=source)
    return source / "dist"


@pytest.fixture(scope="module")
def sdist_files(dist: Path) -> set[str]:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_packaged_file(packaged_files: set[str], wheel_files: set[str]) -> None:
    assert packaged_files >= KEY_FILES
    assert packaged_files - wheel_files == set()


def test_wheel_holds_nothing_else(packaged_files: set[str], wheel_files: set[str]) -> None:
    assert {name for name in wheel_files - packaged_files if ".dist-info/" not in name} == set()
    assert wheel_files & FOREIGN_FILES == set()


def test_wheel_carries_the_license(wheel_files: set[str]) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel_files)


def test_sdist_holds_the_packages_and_the_papers(
    packaged_files: set[str], sdist_files: set[str]
) -> None:
    papers = {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml"}
    assert (packaged_files | papers) - sdist_files == set()


@pytest.mark.parametrize(
    "folder",
    ["adapter", "macros", "tests", "integration_tests", "sample_project", "bench", "docs", ".venv"],
)
def test_sdist_leaves_out(folder: str, sdist_files: set[str]) -> None:
    assert {name for name in sdist_files if name.split("/")[0] == folder} == set()


def test_installed_wheel_shares_the_dbt_namespace(wheel: Path, tmp_path: Path) -> None:
    """It is imported from its own environment, beside the dbt of the one that runs this test."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    purelib = sysconfig.get_path("purelib", "venv", {"base": str(environment)})
    Path(purelib, "dependencies.pth").write_text(sysconfig.get_path("purelib"))

    script = """
import dbt.adapters.base, dbt.adapters.ducklake.__version__ as version, ducklake_spark
from dbt.include.ducklake import PACKAGE_PATH
print(version.version, version.__file__, ducklake_spark.__file__, PACKAGE_PATH, sep="\\n")
"""
    version, *places = run(python, "-I", "-c", script, cwd=tmp_path).splitlines()
    assert f"-{version}-" in wheel.name
    assert [place for place in places if not place.startswith(str(environment))] == []
    assert (Path(places[-1]) / "dbt_project.yml").is_file()
