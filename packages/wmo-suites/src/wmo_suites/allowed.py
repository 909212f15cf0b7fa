"""What of the host a user opens to a proposer's command: nothing but what is named, one word each.

    network        the host's network
    env:NAME       this variable, with the value that it has when the command starts
    read:PATH      this file or folder, at its own place
    write:PATH     the same, and writable

Tasks, verifiers, solutions and the run stay hidden: no path that is one of theirs, holds one or lies in one is opened.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wmo_kit.errors import Missing, Usage

from wmo_suites.box import PYTHON_PREFIX, Bind
from wmo_suites.host import Host

GRAMMAR = "network, env:NAME, read:PATH or write:PATH"
KERNEL = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Never opened: other processes' environments, and devices, are to be had there."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Allowed:
    """What is opened. `paths` are absolute, in the order in which they are mounted; True is writable."""

    network: bool = False
    variables: tuple[str, ...] = ()
    paths: tuple[tuple[Path, bool], ...] = ()

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Give the variables with their values in `environ`. Raises Missing that names the first without one."""
        for name in self.variables:
            if name not in environ:
                raise Missing(f"no variable '{name}', which the run lets its proposer have ('env:{name}'): set it")
        return {name: environ[name] for name in self.variables}

    def binds(self) -> tuple[Bind, ...]:
        """Give the mounts. Raises Missing that names the first path that is not there."""
        for path, writable in self.paths:
            if not path.exists():
                word = _path_word(path, writable=writable)
                raise Missing(
                    f"nothing at '{path}', which the run lets its proposer have ('{word}'): put it there, or name "
                    "all that it is to have anew with 'wmo-state init RUN --allow ...'"
                )
        return tuple(Bind(path.resolve(), str(path), writable=writable) for path, writable in self.paths)

    def shows(self, path: Path) -> bool:
        """Say whether `path`, absolute, is to be seen through what is opened."""
        return any(path.is_relative_to(opened) for opened, _ in self.paths)


def record_words(words: Iterable[str]) -> tuple[str, ...]:
    """Give the words as a run records them: each once, sorted, paths absolute and '~' replaced.

    What is opened is then the same whoever goes on with the run. Raises Usage for a word that is none.
    """
    return tuple(sorted({_recordable(word) for word in words}))


def _recordable(word: str) -> str:
    kind, _, rest = word.partition(":")
    if word == "network":
        return word
    if kind == "env" and VARIABLE.fullmatch(rest):
        return word
    if kind not in {"read", "write"} or not rest:
        raise Usage(f"bad --allow '{word}': say {GRAMMAR}")
    if "\0" in rest or ".." in Path(rest).parts:
        raise Usage(f"bad --allow '{word}': name the path without '..'")
    path = _without_tilde(rest)
    if not path.is_absolute():
        raise Usage(f"bad --allow '{word}': the path must be absolute, the command runs in a folder of its own")
    if not path.exists():
        raise Usage(f"bad --allow '{word}': there is nothing at '{path}'")
    return f"{kind}:{path}"


def _without_tilde(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise Usage(f"cannot tell what '~' is in '{text}': {error}") from error


def read_words(words: Sequence[str], hidden: Iterable[Path]) -> Allowed:
    """Take recorded words apart. `hidden` are the paths that must not be seen.

    Raises Usage for a word that is none, or that names a path which is not to be opened.
    """
    paths: dict[Path, bool] = {}
    variables = []
    for word in words:
        kind, _, rest = word.partition(":")
        if kind == "env" and VARIABLE.fullmatch(rest):
            variables.append(rest)
        elif kind in {"read", "write"} and Path(rest).is_absolute():
            paths[Path(rest)] = kind == "write" or paths.get(Path(rest), False)
        elif word != "network":
            raise Usage(f"bad --allow '{word}': say {GRAMMAR}")
    away = [place for path in hidden for place in (path.absolute(), path.resolve())]
    for path, writable in paths.items():
        _refuse(path, _path_word(path, writable=writable), away)
    ordered = sorted(paths.items(), key=lambda item: item[0].parts)  # a folder before what is in it
    return Allowed("network" in words, tuple(variables), tuple(ordered))


def _refuse(path: Path, word: str, hidden: Iterable[Path]) -> None:
    for place in (path, path.resolve()):
        if place == Path("/"):
            raise Usage(f"bad --allow '{word}': the whole machine is never opened: name what the command needs of it")
        if any(place.is_relative_to(kernel) for kernel in KERNEL):
            raise Usage(f"bad --allow '{word}': '{place}' is the kernel's, and a box has its own")
        for away in hidden:
            if place.is_relative_to(away) or away.is_relative_to(place):
                raise Usage(
                    f"bad --allow '{word}': it would open '{away}' or a part of it, which a proposer must not see: "
                    "the run, its tasks and its recorded episodes"
                )


def _path_word(path: Path, *, writable: bool) -> str:
    return f"{'write' if writable else 'read'}:{path}"


def find_program(name: str, search: str, allowed: Allowed, host: Host) -> str:
    """Give the absolute path at which a box shows the program `name`. `search` is the PATH in there.

    Raises Missing where there is no such program, or where the box would not show it: then with the option to add.
    """
    for folder in search.split(":") if "/" not in name else ():
        if folder == f"{PYTHON_PREFIX}/bin" and host.python_prefix is not None:
            if _runs(host.python_prefix / "bin" / name):
                return f"{folder}/{name}"
        elif _runs(place := Path(folder, name)) and _shown(place, allowed, host):
            return str(place)
    found = next((place for place in _on_host(name) if _runs(place)), None)
    if found is None:
        raise Missing(f"no proposer command '{name}': install it, or name its path")
    if _shown(found, allowed, host):
        return str(found)
    raise Missing(
        f"the proposer command '{found}' is not to be seen in its box, which shows /usr and what is allowed: "
        f"add '{_option(found, allowed, host)}'"
    )


def is_shown(path: Path, allowed: Allowed, host: Host) -> bool:
    """Say whether a box shows the absolute `path` of the host at its own place."""
    roots = ("usr", *(name for name, _ in host.usr_links), *host.usr_folders)
    return allowed.shows(path) or any(path.is_relative_to(f"/{name}") for name in roots)


def _on_host(name: str) -> Iterator[Path]:
    for folder in [""] if "/" in name else os.get_exec_path():
        yield Path(folder, name).absolute()


def _runs(place: Path) -> bool:
    return place.is_file() and os.access(place, os.X_OK)


def _shown(program: Path, allowed: Allowed, host: Host) -> bool:
    """Say whether a program is there in the box, and what it is a link to as well."""
    return all(is_shown(path, allowed, host) for path in (program, program.resolve()))


def _option(program: Path, allowed: Allowed, host: Host) -> str:
    """Give the option that shows a program; where it is a link, the folder that holds it and what it leads to."""
    real = program.resolve()
    if real == program:
        return f"--allow read:{program}"
    common = Path(os.path.commonpath([program.parent, real.parent]))
    if common != Path("/") and not Path.home().is_relative_to(common):
        return f"--allow read:{common}"
    hidden = [folder for folder in (program.parent, real.parent) if not is_shown(folder, allowed, host)]
    return " ".join(f"--allow read:{folder}" for folder in hidden)
