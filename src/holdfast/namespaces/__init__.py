"""Namespaces of `Holdfast`, one module each: sessions, records, reviews, projects, admin."""
