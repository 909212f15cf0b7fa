"""The JSON Schema of every published document, generated from the models."""

from typing import Any

from wmo_contracts.agreement import AgreementDocument
from wmo_contracts.base import Document
from wmo_contracts.candidate import CandidateDocument, RejectionDocument
from wmo_contracts.episode import EpisodeDocument, EpisodeResult
from wmo_contracts.exchanges import ExchangesDocument
from wmo_contracts.harness import HarnessDocument
from wmo_contracts.plan import PlanDocument
from wmo_contracts.run import RunCheckDocument, RunDocument
from wmo_contracts.score import CellDocument, ScoreDocument
from wmo_contracts.vendor import ManifestCheckDocument, MaterializedDocument
from wmo_contracts.verdict import VerdictDocument

DOCUMENTS: tuple[type[Document], ...] = (
    HarnessDocument,
    CandidateDocument,
    RejectionDocument,
    EpisodeDocument,
    EpisodeResult,
    ExchangesDocument,
    ScoreDocument,
    AgreementDocument,
    CellDocument,
    MaterializedDocument,
    ManifestCheckDocument,
    RunDocument,
    RunCheckDocument,
    PlanDocument,
    VerdictDocument,
)


def json_schema(document: type[Document]) -> dict[str, Any]:
    """Give the JSON Schema (draft 2020-12) of a document, its schema line included and required."""
    schema = document.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["properties"] = {"schema": {"const": document.SCHEMA}, **schema["properties"]}
    schema["required"] = ["schema", *schema.get("required", [])]
    return schema


def schema_file_name(document: type[Document]) -> str:
    """Give the file name of a document's schema: "wmo.harness/1" is in "wmo.harness.1.json"."""
    return document.SCHEMA.replace("/", ".") + ".json"
