"""The floor of starting a server, as a program: the SDK's server with one tool that does nothing, over stdio."""

from mcp.server import MCPServer

app = MCPServer("bare")


@app.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


app.run("stdio")
