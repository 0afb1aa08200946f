"""The direction of imports: only downward, units of one floor not among each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import contextctl

ROOT = Path(contextctl.__file__).parent

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "synchronous"),
    ("messages", "findings", "commands"),
    ("entries", "plan", "recording", "images"),
    ("history",),
    ("outcome", "routing", "budget"),
    ("memory", "carried"),
    ("ports", "report", "tracing"),
    (
        "summarisers",
        "strategies",
        "tokenizers",
        "transcripts",
        "checks",
        "ruler",
        "conservation",
        "trimming",
        "stores",
    ),
    ("sections", "providers", "loading", "testing", "converting", "repair"),
    ("preparation", "compaction", "blanking"),
    ("prompt", "remembering", "outlook", "judgement", "tally", "replay", "lint"),
    ("assembler", "rows", "sent"),
    ("calls", "application"),
    ("auditor", "reports"),
    ("cli",),
    ("__main__",),
)
FLOOR_OF = {unit: floor for floor, units in enumerate(FLOORS) for unit in units}

ONLY_IN = {
    "typer": ("cli",),
    "rich": ("cli", "reports"),
    "yaml": ("loading", "providers"),
    "tiktoken": ("tokenizers",),
}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def unit_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_from_lower_floors(path: Path) -> None:
    unit = unit_of(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "contextctl" or len(parts) < 2 or parts[1] == "__version__":
            continue
        other = parts[1]
        if other != unit:
            assert FLOOR_OF[other] < FLOOR_OF[unit], f"{unit} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_library_is_imported_only_where_it_belongs(path: Path) -> None:
    for name in imports(path):
        homes = ONLY_IN.get(name.split(".", maxsplit=1)[0])
        assert homes is None or unit_of(path) in homes, f"{path.name} imports {name}"


def test_every_unit_has_a_floor() -> None:
    assert {unit_of(path) for path in modules()} <= set(FLOOR_OF)


@pytest.mark.parametrize(("name", "most"), [("assembler.py", 200), ("auditor.py", 200)])
def test_the_core_fits_one_sitting(name: str, most: int) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most
