"""Indexing of transcripts, tickets and notes: chunking, change detection, upsert."""

from .change_detection import can_be_indexed
from .index_report import Indexed, Source
from .indexer import Indexer

__all__ = ["Indexed", "Indexer", "Source", "can_be_indexed"]
