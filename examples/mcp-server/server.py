"""Keeps notes in the folder in which it runs, as tools of MCP."""

from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("notes", version="1.0.0", instructions="Write, list and read short notes.")
folder = Path("notes")


def file_of(name: str) -> Path:
    if not name.isidentifier():
        raise ValueError("name a note with letters, digits and _ only")
    return folder / f"{name}.txt"


@server.tool()
def write(name: str, text: str) -> str:
    """Writes a note; an earlier one of the same name is replaced."""
    folder.mkdir(exist_ok=True)
    file_of(name).write_text(text)
    return f"wrote {name}"


@server.tool()
def read(name: str) -> str:
    """Reads a note."""
    return file_of(name).read_text()


@server.tool(name="list")
def list_notes() -> list[str]:
    """Lists the names of all notes."""
    return sorted(file.stem for file in folder.glob("*.txt"))


server.run()
