"""A project's memory, built out of its past sessions: what each taught, then all of it together, as files.

Belongs here: a project's memory in two phases, with what models are asked and the files that come out. Does not:
finding notes (`pipelines/extract/notes/`) and reading transcripts (`transcripts/`).
"""
