"""Outside brains live here: each is a small protocol, a local version that ships, and a fake that ships.

Importing this package loads no model and no numeric library; that waits for the first use.
"""
