"""The vendored pi: where it is, whether it is upstream's byte for byte, and the seed harness made of it (design 4)."""

from collections.abc import Mapping
from pathlib import Path

from wmo_contracts.base import parse_text
from wmo_contracts.vendor import ManifestCheckDocument
from wmo_kit.errors import BadDocument, Missing, Negative

from wmo_harness.manifest import compare, hash_directory, parse_manifest, sha256_hex
from wmo_harness.source_tree import SourceTree
from wmo_harness.surfaces import Surface, to_doc

SEED_NAME = "pi"
MANIFEST = "manifest.sha256"
PI_AGENT = "pi-agent"
RUNTIME = "runtime"
MODULES = "node_modules"
STAMP = "stamp.json"
INSTALL_HINT = "run 'wmo-vendor install'"

SEED_SYSTEM = """\
You are a coding agent in a Linux workspace.

The user gives you a task. The workspace is at /app. When you have finished, submit your answer.
"""
SEED_CONFIG = """\
[harness]
tools = ["bash", "read_file", "write_file", "submit"]
max_turns = 20
max_output_tokens = 4096
temperature = 0.7
runtime_kind = "pi-node"
"""


def find_vendor_dir(configured: Path | None, start: Path) -> Path:
    """Find the vendor directory, the one with a manifest.

    `configured` (flag, WMO_VENDOR or wmo.toml) is taken as it is; else `vendor/` is looked for in `start` and above it,
    then in the repository that this package is installed from. Raises Missing.
    """
    if configured is not None:
        if (configured / MANIFEST).is_file():
            return configured.absolute()
        raise Missing(f"no vendor directory '{configured}': it has no '{MANIFEST}'")
    for place in (start.absolute(), Path(__file__)):
        for parent in (place, *place.parents):
            if (parent / "vendor" / MANIFEST).is_file() and (parent / "vendor" / "package-lock.json").is_file():
                return parent / "vendor"
    raise Missing(f"no vendor directory in '{start}' or above it: name one with --vendor or WMO_VENDOR")


def runtime_dir(vendor_dir: Path) -> Path:
    """Give the folder with node_modules (the libraries that pi's source imports) and compile-cache.

    Raises Missing where it is not installed, or node_modules is not what set-up made.
    """
    runtime = vendor_dir / RUNTIME
    if not (runtime / STAMP).is_file():
        raise Missing(f"no installed runtime in '{runtime}': {INSTALL_HINT}")
    if _stamped_modules(runtime / STAMP) != modules_hash(hash_directory(runtime, MODULES)):
        raise Missing(f"'{runtime / MODULES}' is damaged, its files are not those that set-up made: {INSTALL_HINT}")
    return runtime


def modules_hash(digests: Mapping[str, str]) -> str:
    """Give the one hash of node_modules that the stamp holds; `digests` as hash_directory gives them.

    The compile cache has none: node drops what does not fit, and may add to it.
    """
    return sha256_hex("".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode())


def _stamped_modules(stamp: Path) -> str | None:
    try:
        value = parse_text(stamp.read_text("utf-8"))
    except ValueError:
        return None
    return value.get("modules") if isinstance(value, dict) else None


def read_manifest(vendor_dir: Path) -> dict[str, str]:
    """Read the committed manifest: {path relative to the vendor directory: SHA-256 hex}. Raises BadDocument, OSError.

    Every path is below pi-agent/.
    """
    path = vendor_dir / MANIFEST
    try:
        listed = parse_manifest(path.read_text("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise BadDocument(f"cannot read '{path}': not UTF-8 at byte {error.start}") from error
    for name in listed:
        if not name.startswith(f"{PI_AGENT}/"):
            raise BadDocument(f"cannot read '{path}': '{name}' is not below '{PI_AGENT}/'")
    return listed


def check_pi_agent(vendor_dir: Path) -> ManifestCheckDocument:
    """Compare vendor/pi-agent with the manifest, every byte. Raises BadDocument, OSError."""
    return compare(read_manifest(vendor_dir), hash_directory(vendor_dir, PI_AGENT))


def problems(check: ManifestCheckDocument) -> str:
    """Give what is wrong as `status 'path'`, joined by commas; "" where nothing is."""
    return ", ".join(f"{file.status} '{file.path}'" for file in check.files if file.status != "ok")


def pi_agent_source_paths(vendor_dir: Path) -> tuple[str, ...]:
    """Give the paths of pi's 25 TypeScript files, relative to pi-agent/ (`src/...`), sorted.

    Raises Missing where the tree is not installed, Negative with the list where it is not upstream's.
    """
    if not (vendor_dir / PI_AGENT).exists():
        raise Missing(f"no vendored pi in '{vendor_dir / PI_AGENT}': {INSTALL_HINT}")
    check = check_pi_agent(vendor_dir)
    if not check.ok:
        raise Negative(f"the vendored pi is not upstream's: {problems(check)}; {INSTALL_HINT} to make it anew")
    names = (file.path.removeprefix(f"{PI_AGENT}/") for file in check.files)
    return tuple(name for name in names if name.startswith("src/"))


def seed_tree(vendor_dir: Path) -> SourceTree:
    """Give the seed harness `pi`: SYSTEM.md, config.toml and pi's source. Raises as pi_agent_source_paths does."""
    root = vendor_dir / PI_AGENT
    source = {name: (root / name).read_bytes().decode() for name in pi_agent_source_paths(vendor_dir)}
    return SourceTree.from_mapping({"SYSTEM.md": SEED_SYSTEM, "config.toml": SEED_CONFIG, **source})


def pi_agent_code_surfaces(vendor_dir: Path) -> tuple[Surface, ...]:
    """Give pi's source as surfaces `code:src-...`, sorted by id. Raises as pi_agent_source_paths does."""
    return tuple(surface for surface in to_doc(seed_tree(vendor_dir)) if surface.kind == "code")
