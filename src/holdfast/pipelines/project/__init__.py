"""A project's memory, built out of its past sessions: what each taught, then all of it together, as files.

Belongs here: the two phases as jobs, the prompts' inputs and outputs, the composer that needs no model, and the files.
Does not: finding notes in a session (`extract/notes`), or reading transcripts (`transcripts/`).
"""
