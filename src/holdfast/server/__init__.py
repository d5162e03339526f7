"""The same memory over HTTP, for one person on this machine or many with keys, and the page to see it.

Belongs here: HTTP and what it takes: who asks, how often, errors as answers. Does not: what is remembered, found or
forgotten: verbs decide that.
"""
