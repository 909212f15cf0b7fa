"""REQUEST.md: what a proposer is asked. Written for a coding agent that has never seen the project; deterministic."""

from collections.abc import Sequence
from importlib.resources import files
from string import Template

from wmo_harness.surfaces import HarnessSpec

from wmo_propose.workspace import ManifestEntry

SUMMARY_CHARS = 200

PI_NODE = """\
- `src/**/*.ts`: the agent itself, in TypeScript; `src/index.ts` is its entry, which must go on exporting what it does
  now. Node runs the files as they are, and only strips the types: no enums, namespaces or parameter properties;
  `import type` for types; an import names its file with the extension (`./agent.ts`). Imports may name files of the
  tree, node's own modules, and the packages `@earendil-works/pi-ai`, `@earendil-works/pi-ai/compat`, `typebox`, `yaml`,
  `ignore`. Nothing can be installed.
- Any other text file that your source needs."""
KIT_PYTHON = """\
- `runtime.py`: the agent's loop in Python, a function `run(kit)`; without the file, a default loop runs.
- Any other text file that your source needs."""


def write_request(slot: int, slots: int, spec: HarnessSpec, history: Sequence[ManifestEntry]) -> str:
    """Give the text for `slot` of `slots`. `spec` is the seed's; `history` every consumed slot, the seed first."""
    template = Template(files("wmo_propose").joinpath("data", "REQUEST.md").read_text("utf-8"))
    runtime = PI_NODE if spec.runtime_kind == "pi-node" else KIT_PYTHON
    return template.substitute(slot=slot, slots=slots, standing=_standing(history), runtime=runtime)


def first_line(text: str) -> str:
    """Give the first line that is not blank, cut to what a summary may have."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:SUMMARY_CHARS]


def _standing(history: Sequence[ManifestEntry]) -> str:
    scored = [(entry.score, entry.candidate_id) for entry in history if entry.score is not None]
    seed = scored[0][0]
    best_score, best = max(scored, key=lambda pair: pair[0])  # max gives the earliest of equals
    if best == scored[0][1]:
        return f"The seed scores {seed:.4f}. No candidate beats it so far."
    return f"The seed scores {seed:.4f}. The best so far is {best} with {best_score:.4f}."
