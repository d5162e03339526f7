"""Protocols of other systems, spoken by the one engine: surfaces that neither rank nor decide anything."""
