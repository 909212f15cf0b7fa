"""`wmo-score --agreement A B`: two scorings, and with --baseline the seed's two, held against each other."""

from collections.abc import Mapping

from wmo_contracts.agreement import AgreementDocument
from wmo_contracts.score import ScoreDocument
from wmo_kit.documents import read_document
from wmo_kit.errors import BadDocument, Usage, shown
from wmo_kit.log import Log
from wmo_population.agreement import compare

STDIN = "-"
Sources = tuple[str, str]


def agree(log: Log, sources: Sources, baseline: Sources | None) -> AgreementDocument:
    """Read the documents (one of them may be - for stdin), compare them, and say the result.

    Raises Usage, BadDocument, OSError.
    """
    if [*sources, *(baseline or ())].count(STDIN) > 1:
        raise Usage("'-' can be only one of the documents: standard input is read once")
    named = {source: read_document(source, ScoreDocument) for source in dict.fromkeys([*sources, *(baseline or ())])}
    _refuse_unlike(named)
    a, b = (named[source] for source in sources)
    before = None
    if baseline is not None:
        before = (named[baseline[0]], named[baseline[1]])
        _warn_of_others(log, "--baseline", *before)
    _warn_of_others(log, "--agreement", a, b)
    document = compare(a, b, before)
    log.say("agreement", document.sentence)
    return document


def _refuse_unlike(named: Mapping[str, ScoreDocument]) -> None:
    """Raise BadDocument for scorings that pass by another rule, or with a cell that is no verdict."""
    (first, mode), *others = ((source, document.report.reward_mode) for source, document in named.items())
    for source, other in others:
        if other != mode:
            raise BadDocument(
                f"'{first}' and '{source}' do not compare: their reward modes are '{mode}' and '{other}': "
                "score the one again as the other"
            )
    for source, document in named.items():
        for cell in document.report.cells:
            if cell.infra_failed:
                raise BadDocument(
                    f"'{source}' cannot be compared: its trial '{shown(cell.task_id)} #{cell.attempt}' failed for "
                    "want of infrastructure, and has no verdict: score it again"
                )


def _warn_of_others(log: Log, option: str, a: ScoreDocument, b: ScoreDocument) -> None:
    """Say so where two scorings are not of one harness: they may be compared, but it is seldom meant."""
    if a.report.doc_hash != b.report.doc_hash:
        names = f"'{shown(a.candidate_id)}' and '{shown(b.candidate_id)}'"
        log.say("warning", f"{option}: the two scorings are of different harnesses, {names}")
