"""Set-up of vendor/: npm packages by the lock, pi's source by the manifest, the runtime bundle, the stamp last."""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from wmo_contracts.base import dump_text
from wmo_contracts.vendor import ManifestCheckDocument
from wmo_episode.layout import CACHE
from wmo_harness.manifest import compare, hash_directory, sha256_hex
from wmo_harness.pi_agent import (
    MANIFEST,
    MODULES,
    PI_AGENT,
    RUNTIME,
    STAMP,
    check_pi_agent,
    modules_hash,
    problems,
    read_manifest,
    seed_tree,
)
from wmo_kit.atomic import replace_tree
from wmo_kit.errors import Missing, Negative
from wmo_kit.log import Log

from wmo_vendor.node import NODE, npm_ci
from wmo_vendor.runtime import SCRIPTS, build_runtime
from wmo_vendor.source_maps import package_sources

PACKAGE = Path("node_modules", "@earendil-works", "pi-agent-core")
PLAIN_FILES = ("README.md", "package.json")
"""Files that the npm package ships as upstream has them, beside the sources that its maps carry."""
PINS = ("package.json", "package-lock.json", MANIFEST)


def install(vendor_dir: Path, log: Log) -> ManifestCheckDocument:
    """Bring vendor_dir to the state that its pins describe and give the manifest check, which is all ok.

    What an earlier run finished from the same pins, node and scripts is kept. Otherwise pi-agent/ and runtime/ are
    replaced whole, the runtime last with its stamp, so a killed run never looks finished. A second process waits.
    Raises Missing, Negative where upstream's package is not what the manifest says, what npm_ci raises, OSError.
    """
    with only_one(vendor_dir, log) as lock:
        if is_finished(vendor_dir):
            log.say("kept", f"'{vendor_dir}' is up to date")
            return check_pi_agent(vendor_dir)
        (vendor_dir / RUNTIME / STAMP).unlink(missing_ok=True)  # from here on, a kill leaves "not installed"
        log.say("npm", "installing pi's npm packages by the lock")
        npm_ci(vendor_dir, (lock,))
        build(vendor_dir, log, (lock,))
        return check_pi_agent(vendor_dir)


def build(vendor_dir: Path, log: Log, pass_fds: Sequence[int] = ()) -> None:
    """Make pi-agent/ and runtime/ from installed npm packages; no network. Raises as install does."""
    log.say("sources", "taking pi's source out of its source maps")
    replace_tree(vendor_dir / PI_AGENT, pi_agent_files(vendor_dir))
    log.say("bundle", "bundling the libraries that pi imports")
    files = build_runtime(vendor_dir, seed_tree(vendor_dir), log, pass_fds)
    digests = {name: sha256_hex(data) for name, data in files.items() if name.startswith(f"{MODULES}/")}
    stamp = _stamp(_inputs_hash(vendor_dir), digests)
    replace_tree(vendor_dir / RUNTIME, {**files, STAMP: stamp})
    (vendor_dir / RUNTIME / CACHE).mkdir(exist_ok=True)  # boxes mount it, also where nothing warmed it


def pi_agent_files(vendor_dir: Path) -> dict[str, bytes]:
    """Give pi-agent's files out of the npm package, {path below pi-agent/: bytes}, checked against the manifest.

    Raises Negative with the list where they are not upstream's, Missing, BadDocument, OSError.
    """
    package = vendor_dir / PACKAGE
    files = package_sources(package)
    files.update({name: (package / name).read_bytes() for name in PLAIN_FILES})
    found = {f"{PI_AGENT}/{name}": sha256_hex(data) for name, data in files.items()}
    check = compare(read_manifest(vendor_dir), found)
    if not check.ok:
        raise Negative(f"npm's package is not the upstream that '{MANIFEST}' lists: {problems(check)}")
    return files


@contextmanager
def only_one(vendor_dir: Path, log: Log) -> Iterator[int]:
    """Hold the lock of set-up and give its descriptor. npm's lock file serves: it is there before and after.

    Children inherit the descriptor: where we are killed and npm is not, the next set-up waits for npm. Raises Missing.
    """
    try:
        descriptor = os.open(vendor_dir / "package-lock.json", os.O_RDONLY)
    except FileNotFoundError as error:
        raise Missing(f"no 'package-lock.json' in '{vendor_dir}': it pins what is installed") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.say("waiting", f"another set-up works in '{vendor_dir}': waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _inputs_hash(vendor_dir: Path) -> str:
    """Hash everything that decides the result: the pins, our node scripts, and which node compiled the cache."""
    paths = [*(vendor_dir / name for name in PINS), *sorted(SCRIPTS.glob("*.mjs"))]
    digest = hashlib.sha256(f"{os.getuid()} {NODE.stat().st_size}".encode())
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_finished(vendor_dir: Path) -> bool:
    """Say whether a run from these pins, node and scripts finished and what it made is still as it was."""
    stamp = vendor_dir / RUNTIME / STAMP
    if not (stamp.is_file() and (vendor_dir / RUNTIME / CACHE).is_dir() and (vendor_dir / PACKAGE).is_dir()):
        return False
    wanted = _stamp(_inputs_hash(vendor_dir), hash_directory(vendor_dir / RUNTIME, MODULES))
    return stamp.read_bytes() == wanted and check_pi_agent(vendor_dir).ok


def _stamp(inputs: str, digests: Mapping[str, str]) -> bytes:
    """Give the stamp's text."""
    return dump_text({"inputs": inputs, "modules": modules_hash(digests)}).encode()
