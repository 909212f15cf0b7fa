"""What wmo-propose gives: a candidate, or the rejection of one."""

from typing import Annotated, ClassVar

from pydantic import Field

from wmo_contracts.base import Document
from wmo_contracts.harness import HarnessDocument


class CandidateDocument(Document):
    """`wmo.candidate/1`: a checked proposal. `harness` is a wmo.harness/1 body."""

    SCHEMA: ClassVar[str] = "wmo.candidate/1"

    candidate_id: str
    slot: Annotated[int, Field(ge=0)]
    summary: str = ""
    harness: HarnessDocument


class RejectionDocument(Document):
    """`wmo.rejection/1`: why a slot was consumed without a candidate. `evidence_dir` is relative to the run."""

    SCHEMA: ClassVar[str] = "wmo.rejection/1"

    candidate_id: str
    slot: Annotated[int, Field(ge=0)]
    reason: str
    evidence_dir: str
