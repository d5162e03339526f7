"""The Model Context Protocol over one memory: ten tools, resources and prompts, by pipe or by HTTP.

Belongs here: the Model Context Protocol: tools, resources, prompts, transports, and our entry in its clients. Does
not: anything that a tool would do differently from a verb.
"""
