"""Which environment a user may ask for, and with what: the same for every tool."""

from wmo_contracts.episode import EnvironmentKind
from wmo_kit.errors import Usage


def check_choice(kind: EnvironmentKind, *, recorded: bool, judged: bool) -> None:
    """Raise Usage for an environment that cannot work so: `recorded` folders given or not, `judged` by a model or not.

    A world model may do without examples; a replay has nothing else to answer from.
    """
    if kind == "sandbox":
        if recorded:
            raise Usage("'--recorded' is for '--env world-model' and '--env replay': name one of them (make: ENV=)")
        return
    if kind == "replay" and not recorded:
        raise Usage(
            "a replay answers from recorded episodes alone: name a run or a kept scoring with '--recorded DIR' "
            "(make: RECORDED=DIR)"
        )
    if not judged:
        what = "world model" if kind == "world-model" else "replay"
        raise Usage(f"a {what} has no workspace for a verifier: add '--judge' (make: JUDGE=1)")
