"""The command line as a user meets it: real processes, documented exit codes, one JSON document."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bed import Bed, as_user, command, connect, environment, eventually, spawn
from oneroof import __version__
from oneroof.cli import COMMANDS, GROUPS

GATE = "governance.workers_enabled"


def test_version_and_help_need_no_database() -> None:
    """`--version` and every `--help` answer at once, and help teaches the exit codes."""
    assert command("--version", fresh=True).out == f"oneroof {__version__}\n"
    assert command("--version", "--json", fresh=True).json == {"version": __version__}
    top = command("--help", fresh=True)
    assert top.code == 0
    assert "3 refused" in re.sub(r"\s+", " ", top.out)
    for words in (["gate", "request"], ["estate", "build"], ["person", "add"]):
        assert command(*words, "--help").code == 0


@pytest.mark.parametrize("word", sorted({*COMMANDS, *GROUPS}))
def test_every_command_loads_all_that_it_needs(word: str) -> None:
    """An interpreter that has loaded nothing else shows its help; a forked command says the very same."""
    fresh = command(word, "--help", fresh=True)
    assert fresh.code == 0
    assert command(word, "--help") == fresh


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gaet", "list"], "Did you mean 'gate'"),
        (["gate", "lsit"], "Did you mean 'list'"),
        (["gate", "request", GATE], "--reason"),
        (["gate", "approve", "seven"], "valid integer"),
        (["install", "--prnit"], "--prnit"),
        (["estate", "build", "--rows", "0"], "--rows is 0"),
        (["estate", "live", "--rate", "-1"], "rate"),
    ],
)
def test_wrong_usage_is_exit_2(words: list[str], said: str, installed_database: str) -> None:
    """With a word about what was meant, on stderr, and as JSON where asked for."""
    ran = command(*words, dsn=installed_database)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    as_json = command(*words, "--json", dsn=installed_database)
    assert as_json.code == 2
    assert as_json.json["exit_code"] == 2


def test_json_before_or_after_the_command(installed_database: str) -> None:
    """`--json` and `--dsn` stand where one likes; stdout is one document either way."""
    before = command("--json", "gate", "list", dsn=installed_database)
    after = command("gate", "list", "--json", "--dsn", installed_database)
    assert before.json == after.json
    assert [gate["is_open"] for gate in before.json] == [False] * 6


def test_four_eyes_from_the_shell(installed_database: str) -> None:
    """request → request_id; the requester, its other login, the viewer and a superuser get exit 3; approver opens."""
    asked = command("gate", "request", GATE, "--reason", "go", "--json", dsn=as_user(installed_database, "requester"))
    assert asked.code == 0, asked.err
    number = str(asked.json["request_id"])
    for user in ("requester", "requester_alt", "viewer", "postgres"):
        refused = command("gate", "approve", number, dsn=as_user(installed_database, user))
        assert refused.code == 3, user
        assert len(refused.err.splitlines()) <= 2
        assert (
            command("approvals", "approve", number, "--json", dsn=as_user(installed_database, user)).json["exit_code"]
            == 3
        )
    assert command("gate", "approve", number, dsn=as_user(installed_database, "approver")).code == 0
    gates = command("gate", "list", "--json", dsn=as_user(installed_database, "viewer")).json
    assert [gate["gate_key"] for gate in gates if gate["is_open"]] == [GATE]
    shown = command("approvals", "show", number, dsn=as_user(installed_database, "viewer"))
    assert "approver" in shown.out
    assert command("gate", "close", GATE, dsn=as_user(installed_database, "viewer")).code == 0
    assert command("approvals", "list", dsn=installed_database).out == "nothing waits\n"


def test_people_from_the_shell(installed_database: str) -> None:
    """Adding a person after the bootstrap is a request; `gate approve` does not take it, `approvals approve` does."""
    people = command("person", "list", "--json", dsn=installed_database).json
    assert {person["person_code"]: person["logins"] for person in people} == {
        "approver": ["approver"],
        "requester": ["requester", "requester_alt"],
        "viewer": ["viewer"],
    }
    granted = command("person", "grant", "viewer", "reader", "--json", dsn=as_user(installed_database, "requester"))
    number = str(granted.json["request_id"])
    wrong = command("gate", "approve", number, dsn=as_user(installed_database, "approver"))
    assert wrong.code == 3
    assert f"oneroof approvals approve {number}" in wrong.err
    assert command("approvals", "approve", number, dsn=as_user(installed_database, "approver")).code == 0
    people = command("person", "list", "--json", dsn=installed_database).json
    assert next(person["roles"] for person in people if person["person_code"] == "viewer") == ["operator", "reader"]


def test_the_first_two_approvers_are_registered_at_install(lone_bed: Bed) -> None:
    """On a host that is no estate: `install --approver A --approver B`, and from then on four eyes."""
    with lone_bed.database(lone_bed.estate()) as name:
        dsn = lone_bed.dsn(name)
        with connect(dsn) as connection:
            connection.execute("DROP TABLE estate_build")
        alone = command("install", "--approver", "requester", dsn=dsn)
        assert alone.code == 0, alone.err
        assert "two approvers" in alone.err
        assert command("person", "add", "approver", "--role", "approver", dsn=dsn).code == 0
        assert command("person", "add", "viewer", dsn=dsn).code == 3


@pytest.mark.parametrize("words", [["gate", "list"], ["person", "list"], ["approvals", "list"], ["upgrade"]])
def test_a_missing_schema_is_exit_4(estate_database: str, words: list[str]) -> None:
    """Every command but install and doctor refuses, and names the command that helps."""
    ran = command(*words, dsn=estate_database)
    assert ran.code == 4
    assert "oneroof install" in ran.err


def test_an_outdated_schema_is_exit_4(installed_database: str) -> None:
    """And names upgrade."""
    with connect(installed_database) as connection:
        connection.execute("UPDATE oneroof.governance_schema SET content_sha256 = 'older'")
    ran = command("gate", "list", dsn=installed_database)
    assert ran.code == 4
    assert "oneroof upgrade" in ran.err
    assert command("upgrade", dsn=installed_database).code == 0
    assert command("gate", "list", dsn=installed_database).code == 0


def test_doctor_exits_0_or_1(installed_database: str, empty_database: str) -> None:
    """A table a person can read, JSON for a machine."""
    well = command("doctor", dsn=installed_database)
    assert well.code == 0, well.err
    assert "birth_registry" in well.out
    ill = command("doctor", "--json", dsn=empty_database)
    assert ill.code == 1
    assert ill.json["well"] is False


def test_config_show_lists_value_default_and_origin(tmp_path: Path) -> None:
    """Every setting, with a password blanked, from the four places a setting can come from."""
    (tmp_path / "oneroof.toml").write_text("connect_timeout = 7\n")
    env = {"ONEROOF_HOME": str(tmp_path), "ONEROOF_LOCK_TIMEOUT": "7"}
    ran = command("config", "show", "--json", "--dsn", "host=h password=geheim dbname=d", env=env)
    rows = {row["name"]: row for row in ran.json}
    assert sorted(rows["dsn"]["value"].split()) == ["dbname=d", "host=h", "password=***"]
    assert rows["dsn"]["origin"] == "command line"
    assert (rows["lock_timeout"]["value"], rows["lock_timeout"]["default"]) == ("7.0", "5.0")
    assert rows["lock_timeout"]["origin"] == "environment (ONEROOF_LOCK_TIMEOUT)"
    assert rows["connect_timeout"]["origin"].endswith("oneroof.toml")
    assert rows["pg_linger"]["origin"] == "default"
    assert "geheim" not in ran.out + ran.err
    assert command("config", "show", env=env).code == 0
    (tmp_path / "oneroof.toml").write_text("conect_timeout = 3.5\n")
    wrong = command("config", "show", env=env)
    assert wrong.code == 2
    assert "conect_timeout" in wrong.err


def test_install_print_needs_no_connection() -> None:
    """The three scripts are printed with an unreachable DSN set, and name no secret."""
    for words in (["install"], ["upgrade"], ["uninstall"]):
        ran = command(*words, "--print", dsn="host=/nowhere password=geheim")
        assert ran.code == 0
        assert ran.out.startswith("-- oneroof ")
        assert ran.out.rstrip().endswith("COMMIT;")
        assert "geheim" not in ran.out


def test_uninstall_asks_at_a_terminal(installed_database: str) -> None:
    """At a real terminal it offers an export and asks; `n` leaves everything as it is."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "oneroof", "uninstall"],
        env=environment(installed_database, None),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    os.write(master, b"\nn\n")
    assert process.wait(30) != 0
    os.close(master)
    assert command("gate", "list", dsn=installed_database).code == 0


def test_control_characters_from_the_data_never_reach_the_terminal(installed_database: str) -> None:
    """Promise 26: an escape sequence in a reason is shown as a replacement character."""
    evil = "\x1b[31mred\x1b]0;title\x07\u202e"
    asked = command("gate", "request", GATE, "--reason", evil, dsn=as_user(installed_database, "requester"))
    assert asked.code == 0
    shown = command("approvals", "list", dsn=installed_database)
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out
    assert "red" in shown.out
    as_json = command("approvals", "list", "--json", dsn=installed_database)
    assert "\x1b" not in as_json.out
    assert as_json.json[0]["reason"] == evil
    with connect(installed_database) as admin:
        admin.execute(
            "INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key, source_name,"
            " source_key, source_version, facts_hash) VALUES (%s, 'none', 'g', 'birth_registry', '1', '3', 1)",
            (evil,),
        )
    traced = command("trace", evil, dsn=installed_database)
    assert traced.code == 0
    assert not {"\x1b", "\x07", "\u202e"}.intersection(traced.out)


def test_a_closed_pipe_is_quiet(installed_database: str) -> None:
    """`oneroof … | head -0` ends without a word."""
    process = spawn("doctor", dsn=installed_database)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stderr as said:
        process.stdout.close()
        assert said.read() == ""
    assert process.wait(30) == 0


def test_ctrl_c_during_the_build_leaves_nothing(empty_database: str) -> None:
    """SIGINT and SIGTERM in the middle: exit 130 and 143, one line, and an empty catalog; then it can be built."""
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = spawn("estate", "build", "--rows", "3000000", dsn=empty_database)
        with connect(empty_database) as watcher:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            busy = f"SELECT {others} AND query LIKE '%INSERT INTO birth_registry%' AND state = 'active'"
            eventually(lambda: watcher.execute(busy).fetchone() is not None, what="the build to be at work")  # noqa: B023
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
            assert process.returncode == code, err
            assert err == "stopped; nothing was left half-done\n"
            tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            assert watcher.execute(tables).fetchone() == (0,)
            gone = f"SELECT {others} AND backend_type = 'client backend'"
            eventually(lambda: watcher.execute(gone).fetchone() is None, what="its session to be gone")  # noqa: B023
    built = command("estate", "build", "--rows", "300", "--json", dsn=empty_database)
    assert built.code == 0
    assert json.loads(built.out)["rows"] == 300
    again = command("estate", "build", "--rows", "300", dsn=empty_database)
    assert again.code == 3
    assert "birth_registry" in again.err
