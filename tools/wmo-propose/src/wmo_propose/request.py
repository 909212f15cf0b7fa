"""REQUEST.md: what a proposer is asked. Written for a coding agent that has never seen the project; deterministic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from wmo_contracts.episode import EnvironmentKind
from wmo_harness.surfaces import HarnessSpec

from wmo_propose.leak_check import QUOTE_WORDS, SOLUTION_WORDS
from wmo_propose.workspace import ManifestEntry

SUMMARY_CHARS = 200


@dataclass(frozen=True)
class RuntimeText:
    """What a request says of one kind of runtime: its files, what is outside the tree, and the checks 4 and 5."""

    files: str
    outside: str
    checks: str


PI_NODE = RuntimeText(
    """\
- `src/**/*.ts`: the agent itself, in TypeScript; `src/index.ts` is its entry, which must go on exporting what it does
  now. Node runs the files as they are, and only strips the types: no enums, namespaces or parameter properties;
  `import type` for types; an import names its file with the extension (`./agent.ts`). Imports may name files of the
  tree, node's own modules, and the packages `@earendil-works/pi-ai`, `@earendil-works/pi-ai/compat`, `typebox`, `yaml`,
  `ignore`. Nothing can be installed.
- Any other text file that your source needs.""",
    "the runner that gives the agent its task, its tools and the tool `submit`, its nudges after\n"
    "a turn without a tool call",
    """\
4. every `.ts` and `.js` file (and `.mts`, `.mjs`, `.cts`, `.cjs`) passes node's `stripTypeScriptTypes`;
5. every import that the agent's entry reaches resolves, and every imported name exists;""",
)
KIT_OUTSIDE = "the process that calls `run(kit)`, and `kit` itself"
KIT_CHECKS = """\
4. every `.py` file parses (every `.ts` and `.js` file too), and `runtime.py` has a function `run` at its top level;
5. every import at the top of a `.py` file is of the standard library or of the tree;"""


PLACES: Mapping[EnvironmentKind, str] = {
    "sandbox": "a Linux sandbox",
    "world-model": "a Linux workspace that another model plays: what its tools answer is predicted",
    "replay": "a Linux workspace that recorded episodes play: only calls that were recorded get an answer",
}
VERIFIER_GRADES = "a verifier checks each outcome"
VERIFIER_EVIDENCE = "`verifier/` is what the verifier said."
JUDGE_GRADES = """a judge, another model, reads what the
agent did and answered, and decides assertions about it that you do not see"""
JUDGE_EVIDENCE = (
    "How many of a trial's assertions\n  failed is in its `note` in report.json; what they say is not shown."
)


def write_request(
    slot: int,
    slots: int,
    spec: HarnessSpec,
    history: Sequence[ManifestEntry],
    *,
    environment: EnvironmentKind = "sandbox",
    judged: bool = False,
) -> str:
    """Give the text for `slot` of `slots`. `spec` is the seed's; `history` every consumed slot, the seed first.

    `environment` is what trials act in; `judged`: a judge decides them, not the tasks' verifiers.
    """
    about = PI_NODE if spec.runtime_kind == "pi-node" else _kit_python()
    return _template("REQUEST.md").substitute(
        slot=slot,
        slots=slots,
        standing=_standing(history),
        place=PLACES[environment],
        grader=JUDGE_GRADES if judged else VERIFIER_GRADES,
        grader_evidence=JUDGE_EVIDENCE if judged else VERIFIER_EVIDENCE,
        secret_text="the assertions about it" if judged else "its verifier",
        runtime=about.files,
        outside=about.outside,
        checks=about.checks,
        quote_words=QUOTE_WORDS,
        solution_words=SOLUTION_WORDS,
    )


def _kit_python() -> RuntimeText:
    loop = files("wmo_episode").joinpath("kit_python", "loop.py").read_text("utf-8")
    return RuntimeText(_template("kit-python.md").substitute(loop=loop).rstrip("\n"), KIT_OUTSIDE, KIT_CHECKS)


def _template(name: str) -> Template:
    return Template(files("wmo_propose").joinpath("data", name).read_text("utf-8"))


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
