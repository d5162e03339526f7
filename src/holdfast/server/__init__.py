"""The same memory over HTTP, for one person on this machine or many with keys, and the page to see it."""
