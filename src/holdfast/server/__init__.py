"""HTTP server: authentication, routes, MCP and the Memory page."""
