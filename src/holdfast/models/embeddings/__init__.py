"""Embedding models: the registry, the two that ship, and remote ones."""
