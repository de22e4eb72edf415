"""The reference pages are made from the code, so that they cannot say anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from oneroof import config
from oneroof.cli import EPILOG, application
from oneroof.host import expected_tables

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"


def commands(command: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command with its help text, groups first."""
    context = typer.Context(command, info_name=" ".join(path))  # type: ignore[arg-type]
    yield path, command.get_help(context)  # type: ignore[attr-defined]
    for name in sorted(getattr(command, "commands", {})):
        _, sub, _ = command.resolve_command(context, [name])  # type: ignore[attr-defined]
        yield from commands(sub, (*path, name))


def commands_page() -> str:
    root = typer.main.get_command(application())
    parts = ["# Commands", "", EPILOG, ""]
    for path, text in commands(root, ("oneroof",)):
        parts += [f"## {' '.join(path)}", "", "```", text.strip(), "```", ""]
    return "\n".join(parts)


def settings_page() -> str:
    defaults = {"home": "the data folder of the user"}
    rows = [
        f"| `{row.name}` | `ONEROOF_{row.name.upper()}` | {defaults.get(row.name, row.default)} | {row.description} |"
        for row in config.origins(config.Settings())
    ]
    head = [
        "# Settings",
        "",
        "The command line over the environment over `oneroof.toml` in the data folder over the default.",
    ]
    return "\n".join([*head, "", "| setting | environment | default | meaning |", "|---|---|---|---|", *rows, ""])


def substrate_page() -> str:
    parts = [
        "# The substrate",
        "",
        "What oneroof needs of the host, and never alters: 18 tables in one schema (`host_schema`).",
    ]
    for table in expected_tables.tables():
        parts += ["", f"## {table.name}", "", f"{table.kind}, {table.seed}: {table.purpose}.", ""]
        parts += ["| column | what is needed |", "|---|---|"]
        parts += [f"| {name} | {column} |" for name, column in table.columns.items()]
        if table.inserts:
            parts += [
                "",
                "Rows of ours may leave out any other column of the host's: each takes NULL or has a default.",
            ]
            optional = [name for name in table.columns if name not in table.inserts]
            parts += [f"So may {', '.join(optional)}."] if optional else []
    return "\n".join([*parts, ""])


PAGES = {"commands.md": commands_page, "settings.md": settings_page, "substrate.md": substrate_page}


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_says_what_the_code_says(
    name: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make golden` writes it anew."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    page = PAGES[name]()
    if pytestconfig.getoption("--write-golden"):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / name).write_text(page, encoding="utf-8")
    assert (FOLDER / name).read_text(encoding="utf-8") == page, "make golden"


def test_every_link_between_pages_leads_somewhere() -> None:
    """Relative links in README, CONTRIBUTING and docs name files that exist."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_every_page_of_explanation_is_linked_from_the_readme_or_the_flow() -> None:
    """A page that nothing leads to is a page that goes out of date unseen."""
    front = [ROOT / "README.md", ROOT / "docs" / "explanation" / "flow.md"]
    linked = {
        (page.parent / target).resolve()
        for page in front
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8"))
    }
    for page in ROOT.glob("docs/explanation/**/*.md"):
        assert page.resolve() in linked, f"{page.relative_to(ROOT)} is linked from neither README.md nor flow.md"


def test_every_anchor_of_a_link_is_a_heading() -> None:
    """`page.md#heading` and `#heading` name a heading of that page, as GitHub writes it."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            text = ((page.parent / target) if target else page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.relative_to(ROOT)} links to {target}#{anchor}"


def test_every_test_that_a_page_names_exists() -> None:
    """`tests/…` in backticks is a file or a folder, and `::name` a test in it."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for path, name in re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), f"{page.relative_to(ROOT)} names {path}"
            if name:
                text = (ROOT / path).read_text(encoding="utf-8")
                assert f"def {name}(" in text, f"{page.relative_to(ROOT)} names {path}::{name}"


def test_every_command_that_the_pages_name_exists() -> None:
    """`oneroof word …` in a code block or in backticks is a command of this version, and its options exist."""
    known = {path[1:]: text for path, text in commands(typer.main.get_command(application()), ("oneroof",))}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        text = page.read_text(encoding="utf-8")
        fenced = "\n".join(re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        inline = "\n".join(re.findall(r"`(oneroof [a-z][^`\n]*)`", text))
        for line in re.findall(r"^(?:[A-Z_]+=\S+ )*oneroof ([a-z][^\n|#]*)", f"{fenced}\n{inline}", re.MULTILINE):
            words = tuple(word for word in line.split() if re.fullmatch(r"[a-z]+", word))
            found = max((path for path in known if path == words[: len(path)]), key=len)
            assert found, f"{page.relative_to(ROOT)}: oneroof {line}"
            for option in re.findall(r"--[a-z]+", line):
                assert option in known[found] + known[()], f"{page.relative_to(ROOT)}: oneroof {line}"


def test_the_project_speaks_of_itself_alone() -> None:
    """No address of a package registry and no path of anybody's machine in the tree."""
    registries = re.compile(r"https?://[a-z0-9.-]*(pypi|pythonhosted|npmjs|debian)\.[a-z]+")
    for path in ROOT.rglob("*"):
        if (
            path.is_file()
            and path.suffix in {".py", ".md", ".txt", ".toml", ".sql", ""}
            and ".venv" not in path.parts
            and ".git" not in path.parts
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not registries.search(text), path
