"""Holdfast inside coding agents: their hooks and their configuration files."""
