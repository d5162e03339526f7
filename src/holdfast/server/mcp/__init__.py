"""Model Context Protocol: tools, resources, prompts and transports."""
