"""The MCP server: what it shows (`app`), how it searches (`engine`), how it is reached (`stdio`, `http`).

Only this package names the MCP SDK. Nothing here imports the library's backends before the first reply is out: a
client waits for the handshake, and numpy alone would take longer than the rest of it.
"""
