"""The Model Context Protocol over one memory: ten tools, resources and prompts, by pipe or by HTTP."""
