"""What a judge said of a trial (`wmo.verdict/1`)."""

from typing import ClassVar, Self

from pydantic import model_validator

from wmo_contracts.base import Document, Part


class AssertionVerdict(Part):
    """The judge's verdict on one assertion. Where it gave none that counts, `valid` and `passed` are false."""

    assertion: str
    passed: bool
    valid: bool
    reason: str = ""

    @model_validator(mode="after")
    def _passed_by_a_verdict(self) -> Self:
        if self.passed and not self.valid:
            raise ValueError("an assertion without a valid verdict cannot be passed")
        return self


class VerdictDocument(Document):
    """`wmo.verdict/1`: a task's assertions, in order, each with its verdict.

    `passed` needs every assertion passed and a reply without fault; `note` says what was wrong with the reply.
    """

    SCHEMA: ClassVar[str] = "wmo.verdict/1"

    passed: bool
    assertions: tuple[AssertionVerdict, ...]
    note: str = ""

    @model_validator(mode="after")
    def _passed_by_all(self) -> Self:
        if self.passed and (self.note or not all(one.passed for one in self.assertions)):
            raise ValueError("passed is true, but a verdict or the note says otherwise")
        return self
