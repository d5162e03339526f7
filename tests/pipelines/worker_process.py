"""A worker in a process of its own, for test_work.py: python worker_process.py PLACE MICROSECONDS

Its model says on standard output that it was asked for the first time, and waits for a line on
standard input. Then all goes on, and each job that is done makes a line of its own. The clock
stands still.
"""

from __future__ import annotations

import sys

from holdfast.extraction.job_types import Worker
from holdfast.maintenance.job_runner import drain
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import open_store

HOLDING = "holding a job"


class Waiting(FakeEmbedder):
    """Works as soon as it is told to."""

    def embed_documents(self, texts):
        if not self.calls:
            print(HOLDING, flush=True)
            sys.stdin.readline()
        return super().embed_documents(texts)


def main(place: str, now: int) -> None:
    """Does all that is due and ends."""
    store = open_store(place, clock=lambda: now)
    worker = Worker(store, Tiers.of(Waiting(), clock=lambda: now), lambda: now)
    drain(worker, lambda job: print(job.status, job.scope, job.key, flush=True))
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
