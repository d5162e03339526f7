"""Adapters that let other frameworks use Holdfast through their own interfaces."""
