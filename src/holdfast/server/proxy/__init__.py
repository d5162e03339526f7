"""OpenAI-compatible proxy: memory before and after the requests of any chat client."""
