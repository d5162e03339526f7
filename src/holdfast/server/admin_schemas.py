"""Schemas of the server's figures for admin keys: no field holds anything that a memory says."""

from __future__ import annotations

from pydantic import BaseModel, Field

from .schemas import Moment


class OwnerFigures(BaseModel):
    """How much one owner stores and uses."""

    owner: str = Field(examples=["alice"])
    memories: int = Field(description="Active memories.")
    words: int = Field(description="Words in them.")
    last_activity: Moment | None = Field(description="End of the latest conversation.")
    keys: int
    calls: int = Field(description="Questions to language models in the last 30 days.")
    tokens: int


class DaySpend(BaseModel):
    """Use of language models on one day."""

    day: str = Field(examples=["2026-03-18"])
    calls: int
    tokens: int


class WorkerFigures(BaseModel):
    """A worker that holds a job."""

    name: str
    job: str
    lease_until: Moment | None


class JobError(BaseModel):
    """A job that failed, without the text of its error."""

    owner: str
    job: str
    error: str
    retries_left: int
    retry_at: Moment | None


class RequestFailure(BaseModel):
    """A request that failed inside the server."""

    at: Moment
    method: str
    route: str
    status: int
    request_id: str = Field(description="Id under which the server's log has the details.")


class ServerFigures(BaseModel):
    """Figures of a shared server."""

    version: str
    started_at: Moment
    keys: int = Field(description="Valid keys.")
    requests: int = Field(description="Answered since the start.")
    statuses: dict[str, int] = Field(description="Answers by status.")
    failures: list[RequestFailure] = Field(description="Newest first.")
    daily_tokens: int = Field(description="Tokens that each owner may use in a day.")
    findings: int | None = Field(description="Problems of the store; null if not permitted.")
    missing: str = Field(default="", description="Why figures of the store are missing.")
    bytes: int | None = Field(default=None, description="Size of the store.")
    owner_count: int = 0
    memories: int = 0
    owners: list[OwnerFigures] = Field(
        default_factory=list, description="Those with the most memories first; at most 500."
    )
    spend: list[DaySpend] = Field(default_factory=list, description="The last 30 days.")
    jobs: dict[str, dict[str, int]] = Field(
        default_factory=dict, description="Number of jobs by kind and status."
    )
    workers: list[WorkerFigures] = Field(default_factory=list)
    job_errors: list[JobError] = Field(default_factory=list)
