"""Agents described in role files: tools, conversations, triggers and memory."""
