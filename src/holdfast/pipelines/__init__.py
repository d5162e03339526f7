"""Work that takes a while: embedding, export and import, and later consolidation, reflection, decay.

Belongs here: jobs over many memories, built from the store's promises. Does not: SQL, ranking, printing.
"""
