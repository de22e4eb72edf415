"""Identity: as whom the server runs, for PostgreSQL refuses to run as root.

An ordinary user runs it directly. Root runs it in a user namespace without rights: the files stay
root's. Where namespaces are forbidden, root drops to an ordinary user, who then owns the server folder.
Invariant: `owner` is the only user who can pass the folders that protect the socket, besides root.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from oneroof.embedded.binaries import WHEEL, Binaries
from oneroof.errors import Unavailable

_REACH = 'cd "$1" && [ -w . ] && "$2" --version && "$3" --version'


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose the folders are, and how a program of PostgreSQL is called."""

    owner: int
    prefix: tuple[str, ...] = ()
    drop_to: tuple[int, int] | None = None

    def own(self, path: Path) -> None:
        """Give a path, and all below it, to the owner."""
        if self.drop_to is None or path.lstat().st_uid == self.owner:
            return
        for below in [*path.rglob("*"), path]:
            os.chown(below, *self.drop_to, follow_symlinks=False)


def identify(*, folder: Path, binaries: Binaries) -> tuple[Identity, Binaries]:
    """As whom to run `binaries` in `folder`; the binaries may be a copy that this identity can read."""
    if os.geteuid() != 0:
        return Identity(os.geteuid()), binaries
    namespace = _namespace()
    if namespace is not None and _reaches(namespace, folder=folder, binaries=binaries):
        return namespace, binaries
    dropped = _dropped(folder)
    dropped.own(folder)
    if _reaches(dropped, folder=folder, binaries=binaries):
        return dropped, binaries
    copy = replace(binaries, folder=_copy(binaries, into=folder / f"binaries-{binaries.version}"))
    if _reaches(dropped, folder=folder, binaries=copy):
        return dropped, copy
    name = pwd.getpwuid(dropped.owner).pw_name
    raise Unavailable(
        f"PostgreSQL does not run as root, and {name}, as whom it would run, cannot reach {folder}",
        hint="set ONEROOF_HOME to a folder below one that every user can pass, such as /var/lib/oneroof",
    )


def _namespace() -> Identity | None:
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    # initdb looks its user up by number, so the namespace's user must be one that has a name.
    known = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
    nobody = next((entry for entry in known if entry.pw_name == "nobody"), known[0] if known else None)
    if nobody is None:
        return None
    users = (f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}")
    return Identity(os.geteuid(), prefix=(unshare, "-U", *users, "--"))


def _dropped(folder: Path) -> Identity:
    for uid in (folder.stat().st_uid, folder.parent.stat().st_uid):
        if uid != 0:
            try:
                return Identity(uid, drop_to=(uid, pwd.getpwuid(uid).pw_gid))
            except KeyError:
                continue
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise Unavailable(
            "PostgreSQL does not run as root, and this system has no user nobody to run it",
            hint="run oneroof as an ordinary user, or name a server with --dsn",
        ) from None
    return Identity(nobody.pw_uid, drop_to=(nobody.pw_uid, nobody.pw_gid))


def _reaches(identity: Identity, *, folder: Path, binaries: Binaries) -> bool:
    programs = (binaries.program("postgres"), binaries.program("initdb"))
    uid, gid = identity.drop_to or (None, None)
    try:
        done = subprocess.run(
            [*identity.prefix, "/bin/sh", "-c", _REACH, "sh", str(folder), *programs],
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def _copy(binaries: Binaries, *, into: Path) -> Path:
    """Copy the whole installation, for the programs find their libraries relative to themselves."""
    install = binaries.folder.parent
    target = into / WHEEL / install.name
    if not target.exists():
        shutil.rmtree(into, ignore_errors=True)
        libraries = install.parent.parent / f"{WHEEL}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, into / libraries.name, symlinks=True)
        # Last and by rename: that the target exists says that the copy is whole.
        shutil.copytree(install, into / "half", symlinks=True)
        target.parent.mkdir()
        (into / "half").rename(target)
        for path in (into, *into.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
    return target / "bin"
