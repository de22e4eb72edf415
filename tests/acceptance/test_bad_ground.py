"""Servers and machines that are not as they should be: one clear sentence, the right exit code, nothing half-done.

Commands with a server embedded in them are started fresh: what they hand on to it is what a user's would.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from bed import Bed, await_gone, command, connect, environment, eventually, own_bed, spawn


@pytest.fixture
def home() -> Iterator[Path]:
    """A data folder with a short path, of this test's own."""
    with tempfile.TemporaryDirectory(prefix="or-") as folder:
        yield Path(folder)
        if (Path(folder) / "server").is_dir():
            await_gone(Path(folder))


def sentence(err: str) -> str:
    """Everything said is one sentence and at most one line of help."""
    lines = err.splitlines()
    assert 1 <= len(lines) <= 2, err
    assert lines[0].startswith("oneroof: ")
    return err


def test_an_unreachable_server_is_exit_4() -> None:
    """No host, no port, no socket, no such database word: exit 4, and a password is never repeated."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for dsn in (
            f"host=127.0.0.1 port={port} password=geheim",
            "host=/nowhere",
            "postgresql://u:geheim@127.0.0.1:1/d",
            "nonsense",
        ):
            ran = command("doctor", dsn=dsn)
            assert ran.code == 4, dsn
            assert "geheim" not in sentence(ran.err)


def test_a_wrong_password_is_exit_4(lone_bed: Bed) -> None:
    """The server's own words, without the password."""
    with connect(lone_bed.dsn("postgres")) as admin:
        admin.execute("CREATE ROLE somebody LOGIN PASSWORD 'right'")
        hba = Path(admin.execute("SHOW hba_file").fetchone()[0])  # type: ignore[index]
        hba.write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        admin.execute("SELECT pg_reload_conf()")
        wrong = make_conninfo(lone_bed.dsn("postgres", user="somebody"), password="geheim")
        eventually(lambda: command("doctor", dsn=wrong).code == 4, what="the new rules to be in force")
        ran = command("doctor", dsn=wrong)
        assert "password authentication failed" in sentence(ran.err)
        assert "geheim" not in ran.err
        right = make_conninfo(wrong, password="right")
        assert command("doctor", dsn=right).code == 1


def test_a_standby_is_read_only(lone_bed: Bed, home: Path) -> None:
    """install and estate build on a standby: exit 4, and doctor says what it is."""
    with lone_bed.database(lone_bed.estate()) as name, connect(lone_bed.dsn(name)):
        copy = home / "server" / "data"
        backup: list[str | Path] = [
            lone_bed.server.binaries.folder / "pg_basebackup",
            "-D",
            copy,
            "-d",
            lone_bed.dsn("postgres"),
            "-X",
            "stream",
            "-c",
            "fast",
        ]
        subprocess.run(backup, check=True, capture_output=True)
        (home / "server").chmod(0o700)
        (copy / "standby.signal").touch()
        with own_bed(home, major=lone_bed.major) as standby:
            for words in (["install"], ["estate", "build", "--rows", "10"]):
                ran = command(*words, dsn=standby.dsn(name if words == ["install"] else "postgres"))
                assert ran.code == 4, ran.err
                assert "read-only" in sentence(ran.err)
            report = command("doctor", "--json", dsn=standby.dsn(name))
            assert any(check["detail"] == "standby, read-only" for check in report.json["checks"])


def on_a_small_disk(script: str, home: Path) -> list[str]:
    """Run a script where it may mount a file system of its own at `home/small`; the lines that it printed."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let a process mount a file system of its own")
    (home / "small").mkdir()
    ran = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-c", script, str(home)],
        env=environment(None, None),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_full_disk_during_the_build_leaves_nothing(home: Path) -> None:
    """The tables are on a file system that fills up: exit 4, nothing remains, and a smaller estate fits afterwards."""
    script = textwrap.dedent(
        """
        import subprocess, sys
        from pathlib import Path
        import psycopg
        from oneroof.embedded.server import EmbeddedServer

        home = Path(sys.argv[1])
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0777", "tmpfs", home / "small"], check=True)
        count = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        with EmbeddedServer.open(home=home, linger=0) as server:
            with psycopg.connect(server.dsn("postgres"), autocommit=True) as admin:
                admin.execute(f"CREATE TABLESPACE small LOCATION '{home / 'small'}'")
                admin.execute("ALTER DATABASE oneroof SET default_tablespace = small")
            for rows in (400_000, 500):
                words = [sys.executable, "-m", "oneroof", "estate", "build", "--rows", str(rows), "--dsn", server.dsn()]
                done = subprocess.run(words, capture_output=True, text=True)
                print(done.returncode, done.stderr.replace("\\n", " | "))
                with psycopg.connect(server.dsn(), autocommit=True) as connection:
                    print(connection.execute(count).fetchone()[0])
        """
    )
    full, left, fits, there = on_a_small_disk(script, home)
    assert full.startswith("4 oneroof: building the estate: the server's disk is full")
    assert left == "0"
    assert fits.startswith("0 ")
    assert int(there) > 30


def test_two_demos_at_once(home: Path) -> None:
    """The second is told that the first one runs, exit 5; the first is not disturbed."""
    env = {"ONEROOF_HOME": str(home), "ONEROOF_PG_LINGER": "0"}
    first = spawn("demo", "--rows", "20000", "--once", env=env, fresh=True)
    held = home / "demo.lock"
    eventually(held.exists, what="the first demo to be at work")
    second = command("demo", "--rows", "20000", "--once", env=env, fresh=True)
    assert second.code == 5
    assert "another demo runs" in sentence(second.err)
    out, err = first.communicate(timeout=120)
    assert first.returncode == 0, out + err
    # The closed books are what is seen at the end.
    assert out.splitlines()[-2:] == ["✓ balanced, complete", out.splitlines()[-1]]
    assert out.splitlines()[-1].startswith("look around: ")


def test_demo_from_nothing_twice_and_anew(home: Path) -> None:
    """Server, estate, install, gates opened by two logins, doctor; again from there; and with other rows anew."""
    env = {"ONEROOF_HOME": str(home), "ONEROOF_PG_LINGER": "5"}
    first = command("demo", "--rows", "2000", "--once", "--json", env=env, fresh=True)
    assert first.code == 0, first.err
    assert first.json["well"] is True
    assert first.json["balanced"] is True
    scopes = [first.json[when]["scopes"]["birth_registry"] for when in ("before", "after")]
    assert all(scope["undecided"] == 0 for scope in (books for scope in scopes for books in scope["terms"].values()))
    assert first.json["after"]["previous_sha256"] == first.json["before"]["sha256"]
    opened = {
        gate["gate_key"]: (gate["requested_by"], gate["approved_by"]) for gate in first.json["gates"] if gate["is_open"]
    }
    assert opened["governance.workers_enabled"] == ("requester", "approver")
    owners = len((home / "owners.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert f"owners.csv: {owners} added, 0 changed, 0 unchanged" in first.err
    second = command("demo", "--rows", "2000", "--once", "--json", env=env, fresh=True)
    assert second.code == 0, second.err
    assert "built before" in second.err
    assert f"owners.csv: 0 added, 0 changed, {owners} unchanged" in second.err
    assert second.json["gates"] == first.json["gates"]
    anew = command("demo", "--rows", "1000", "--once", "--json", env=env, fresh=True)
    assert anew.code == 0, anew.err
    assert anew.json["rows"] == 1000
    assert command("gate", "list", env=env, fresh=True).code == 0


def test_ctrl_c_during_the_demo_leaves_nothing_half_done(home: Path) -> None:
    """Interrupted at many points, from initdb on, the next demo starts as if nothing had been."""
    env = {"ONEROOF_HOME": str(home), "ONEROOF_PG_LINGER": "0"}
    pause = threading.Event()
    for sign in ("server/start.lock", "server/data/postmaster.pid", "demo.lock"):
        for later in (0.3, 0.6, 0.9):
            process = spawn("demo", "--rows", "300000", "--once", env=env, fresh=True)
            eventually((home / sign).exists, what=sign)
            pause.wait(later)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            assert process.returncode in (130, -signal.SIGINT), out + err
            assert "Traceback" not in err
            assert process.returncode < 0 or err.splitlines()[-1] == "stopped; nothing was left half-done"
    assert command("demo", "--rows", "500", "--once", env=env, fresh=True).code == 0


def test_a_folder_that_cannot_be_written_is_exit_4(home: Path) -> None:
    """A file where the folder should be."""
    (home / "taken").write_text("")
    ran = command("doctor", env={"ONEROOF_HOME": str(home / "taken")}, fresh=True)
    assert ran.code == 4
    assert "taken" in sentence(ran.err)


def test_a_data_folder_of_another_version_is_exit_4(home: Path) -> None:
    """The folder, its version and what to do are named."""
    env = {"ONEROOF_HOME": str(home), "ONEROOF_PG_LINGER": "0"}
    assert command("doctor", env=env, fresh=True).code == 1
    eventually(lambda: not (home / "server/data/postmaster.pid").exists(), what="the server to be gone")
    (home / "server/data/PG_VERSION").write_text("14\n")
    ran = command("doctor", env=env, fresh=True)
    assert ran.code == 4
    assert "14" in sentence(ran.err)


def test_the_server_goes_with_its_last_user(home: Path) -> None:
    """A command killed with kill -9 takes the embedded server with it."""
    env = {"ONEROOF_HOME": str(home), "ONEROOF_PG_LINGER": "0"}
    process = spawn("estate", "build", "--rows", "2000000", env=env, fresh=True)
    pid_file = home / "server/data/postmaster.pid"
    eventually(pid_file.exists, what="the server to run")
    process.kill()
    process.communicate()
    eventually(lambda: not pid_file.exists(), what="the server to be gone")


def test_a_full_disk_pauses_a_sweep_which_goes_on_by_itself(home: Path) -> None:
    """The candidates' file system is full: the run says so and waits; when there is room again it ends its work."""
    script = textwrap.dedent(
        """
        import subprocess, sys
        from pathlib import Path
        import psycopg
        from oneroof.install import migrate
        from oneroof.people import gates, requests
        from oneroof.config import Settings
        from oneroof.embedded.server import EmbeddedServer
        from oneroof.estate.build import build

        home = Path(sys.argv[1])
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0777", "tmpfs", home / "small"], check=True)
        done = "SELECT events_seen = (SELECT count(*) FROM birth_registry) FROM oneroof.gov_worker_cursor"
        with EmbeddedServer.open(home=home, linger=0) as server:
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                build(admin, rows=20_000, seed=1)
                migrate.install(admin, settings=Settings(home=home))
                admin.execute(f"CREATE TABLESPACE small LOCATION '{home / 'small'}'")
                state = "oneroof.governance_candidate_state"
                for name in (f"TABLE {state}", f"INDEX {state}_pkey"):
                    admin.execute(f"ALTER {name} SET TABLESPACE small")
                admin.execute("CREATE TABLE filler (n text) TABLESPACE small")
                try:
                    while True:
                        admin.execute("INSERT INTO filler SELECT repeat('x', 500) FROM generate_series(1, 1500)")
                except psycopg.errors.DiskFull:
                    pass
                with (
                    psycopg.connect(server.dsn(user="requester"), autocommit=True) as asking,
                    psycopg.connect(server.dsn(user="approver"), autocommit=True) as deciding,
                ):
                    request = gates.request(asking, "governance.workers_enabled", reason="x")
                    requests.decide(deciding, request, "approved")
                words = ["-m", "oneroof", "run", "backfill_sweep", "--until-idle", "--dsn", server.dsn()]
                run = subprocess.Popen([sys.executable, *words], stdout=2, stderr=subprocess.PIPE, text=True)
                for line in run.stderr:
                    if "disk is full" in line:
                        break
                print("waits", run.poll() is None)
                admin.execute("DROP TABLE filler")
                print(run.wait(timeout=60))
                run.stderr.close()
                print(admin.execute(done).fetchone()[0])
        """
    )
    assert on_a_small_disk(script, home) == ["waits True", "0", "True"]
