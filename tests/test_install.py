"""`rag-mcp install`: real processes, with a home of their own, over the files that clients really read."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from storecheck import write_corpus

from rag_mcp.adapters import clients
from rag_mcp.adapters.cli import cli
from rag_mcp.effects.boundary import Refused
from rag_mcp.pure.registration import CLIENTS, Registration

ROOT = Path(__file__).parent.parent
PLACES = {
    "claude-code": ".mcp.json",
    "claude-desktop": "home/settings/Claude/claude_desktop_config.json",
    "cursor": "home/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": "home/.codex/config.toml",
}
FOREIGN = '{\n   "theme": "dunkel – ü",\n   "mcpServers": {\n      "other": {"command": "x"}\n   },\n   "n": 1.10\n}'


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder to work in, with a home and a corpus whose names are awkward."""
    (tmp_path / "home").mkdir()
    write_corpus(tmp_path / "Grüße & Notizen", pages=1, sections=1)
    return tmp_path


def start(
    world: Path, *words: str, env: dict[str, str] | None = None, python: str = sys.executable, path: str = str(ROOT)
) -> subprocess.CompletedProcess[str]:
    """Run the command line in `world`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_MCP_", "XDG_", "CODEX_"))}
    home = {"HOME": str(world / "home"), "XDG_DATA_HOME": str(world / "data"), "PYTHONPATH": path}
    home["XDG_CONFIG_HOME"] = str(world / "home" / "settings")
    command = [python, "-m", "rag_mcp", *words]
    done = subprocess.run(
        command, cwd=world, env={**kept, **home, **(env or {})}, capture_output=True, encoding="utf-8", timeout=60
    )
    assert "Traceback" not in done.stderr
    return done


def install(world: Path, client: str, *words: str, code: int = 0, corpus: str = "Grüße & Notizen", **more: Any) -> str:
    """Run the verb; its exit code must be `code`. -> what it said."""
    done = start(world, "install", client, "--corpus", corpus, *words, **more)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8")) if file.suffix == ".toml" else json.loads(file.read_text("utf-8"))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def started(entry: dict[str, Any], *words: str, cwd: Path) -> str:
    """What the registered program says, given nothing but its own environment."""
    command = [entry["command"], *entry["args"], *words]
    env = {**entry["env"], "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", check=True).stdout


@pytest.mark.skipif(sys.platform == "darwin", reason="Claude Desktop keeps its file elsewhere there")
@pytest.mark.parametrize("client", PLACES)
def test_each_client_gets_an_entry_that_works_from_any_folder(world: Path, client: str) -> None:
    said = install(world, client, "--embedder", "hash", "--db", "a store")
    file = world / PLACES[client]
    assert f"{CLIENTS[client].title}: 'rag' was added to {file}\n" in said
    assert f"rag-mcp ingest '{world}/Grüße & Notizen' --db '{world}/a store' --embedder hash" in said
    assert CLIENTS[client].restart in said
    [(section, servers)] = read(file).items()
    assert (section, [*servers]) == (CLIENTS[client].section, ["rag"])
    entry = servers["rag"]
    assert entry.pop("type", None) == ("stdio" if client == "vscode" else None)
    assert [*entry] == ["command", "args", "env"]
    assert Path(entry["command"]).is_absolute()
    assert entry["env"] == {
        "RAG_MCP_CORPUS_ROOT": str(world / "Grüße & Notizen"),
        "RAG_MCP_DB_PATH": str(world / "a store"),
        "RAG_MCP_EMBEDDER": "hash",
    }
    if client == "codex":
        started(entry, "ingest", "--quiet", cwd=Path("/"))
        assert json.loads(started(entry, "stats", "--json", cwd=Path("/")))["embedder"] == "hash"
        assert "ingest" not in install(world, client, "--embedder", "hash", "--db", "a store")


def test_what_is_at_its_default_is_not_registered_but_the_store_always_is(world: Path) -> None:
    install(world, "claude-code")
    env = read(world / ".mcp.json")["mcpServers"]["rag"]["env"]
    assert [*env] == ["RAG_MCP_CORPUS_ROOT", "RAG_MCP_DB_PATH"]
    assert env["RAG_MCP_DB_PATH"].startswith(f"{world}/data/rag-mcp/stores/")
    given = {"RAG_MCP_CORPUS_ROOT": "Grüße & Notizen/../home", "RAG_MCP_MODEL_DIR": "m", "RAG_MCP_COLLECTION": "c"}
    assert start(world, "install", "claude-code", "--name", "two", env=given).returncode == 0
    servers = read(world / ".mcp.json")["mcpServers"]
    assert [*servers] == ["rag", "two"]
    assert servers["two"]["env"]["RAG_MCP_CORPUS_ROOT"] == str(world / "home")
    assert servers["two"]["env"]["RAG_MCP_MODEL_DIR"] == str(world / "m")
    assert servers["two"]["env"]["RAG_MCP_COLLECTION"] == "c"


def test_the_profiles_of_tools_are_registered_and_a_name_that_is_none_is_refused(world: Path) -> None:
    install(world, "claude-code", "--tools", "corpus")
    install(world, "claude-code", "--name", "two", env={"RAG_MCP_TOOLS": "corpus, knowledge"})
    servers = read(world / ".mcp.json")["mcpServers"]
    assert [servers[name]["env"]["RAG_MCP_TOOLS"] for name in ("rag", "two")] == ["corpus", "knowledge,corpus"]
    assert "name some of knowledge, corpus" in install(world, "claude-code", "--tools", "all", code=2)


def test_the_script_beside_the_interpreter_is_registered_and_its_links_are_kept(world: Path) -> None:
    (world / "bin").mkdir()
    (world / "bin" / "python").symlink_to(sys.executable)
    where: dict[str, Any] = {"python": str(world / "bin" / "python"), "path": os.pathsep.join([str(ROOT), *sys.path])}
    install(world, "claude-code", **where)
    assert read(world / ".mcp.json")["mcpServers"]["rag"]["command"] == str(world / "bin" / "python")
    assert read(world / ".mcp.json")["mcpServers"]["rag"]["args"] == ["-m", "rag_mcp"]
    (world / "bin" / "rag-mcp").touch()
    assert "replaced" in install(world, "claude-code", **where)
    assert read(world / ".mcp.json")["mcpServers"]["rag"]["command"] == str(world / "bin" / "rag-mcp")
    assert read(world / ".mcp.json")["mcpServers"]["rag"]["args"] == []


def test_each_client_is_looked_for_where_it_looks() -> None:
    home, here = Path("/h"), Path("/here")

    def place(client: str, platform: str = "linux", **environ: str) -> str:
        return str(clients.place(CLIENTS[client], environ=environ, home=home, folder=here, platform=platform))

    assert place("claude-code") == "/here/.mcp.json"
    assert place("vscode") == "/here/.vscode/mcp.json"
    assert place("cursor") == "/h/.cursor/mcp.json"
    assert place("codex", CODEX_HOME="") == "/h/.codex/config.toml"
    assert place("codex", CODEX_HOME="/c") == "/c/config.toml"
    assert place("codex", CODEX_HOME="c") == "/here/c/config.toml"
    desktop = "Claude/claude_desktop_config.json"
    assert place("claude-desktop") == f"/h/.config/{desktop}"
    assert place("claude-desktop", XDG_CONFIG_HOME="/x") == f"/x/{desktop}"
    assert place("claude-desktop", "darwin") == f"/h/Library/Application Support/{desktop}"
    assert place("claude-desktop", "win32", APPDATA="/r") == f"/r/{desktop}"


def test_an_existing_file_keeps_all_it_holds_and_is_backed_up_once(world: Path) -> None:
    file = world / "c.json"
    file.write_bytes(b"\xef\xbb\xbf" + FOREIGN.encode())
    file.chmod(0o640)
    (world / "c.json.bak").write_text("older")
    said = install(world, "claude-desktop", "--file", "c.json")
    assert f"added to {file}; what it said before is in {file}.bak1" in said
    new = file.read_bytes()
    head, tail = FOREIGN.encode().split(b'{"command": "x"}')
    assert new.startswith(b"\xef\xbb\xbf" + head + b'{"command": "x"},\n      "rag": {\n         "command": ')
    assert new.endswith(b"\n      }" + tail)
    assert "Grüße".encode() in new
    assert (world / "c.json.bak").read_text() == "older"
    assert (world / "c.json.bak1").read_bytes() == b"\xef\xbb\xbf" + FOREIGN.encode()
    assert {stat.S_IMODE((world / name).stat().st_mode) for name in ("c.json", "c.json.bak1")} == {0o640}
    before = tree(world)
    assert "stands in" in install(world, "claude-desktop", "--file", "c.json")
    assert tree(world) == before
    said = json.loads(install(world, "claude-desktop", "--file", "c.json", "--db", "s", "--json"))
    assert said == {
        "ok": True, "client": "claude-desktop", "file": str(file), "action": "replaced", "backup": f"{file}.bak2",
    }  # fmt: skip
    assert sorted(tree(world)) == sorted([*before, "c.json.bak2"])


def test_print_shows_exactly_what_would_be_written_and_writes_nothing(world: Path) -> None:
    (world / ".mcp.json").write_text(FOREIGN, "utf-8")
    before = tree(world)
    shown = install(world, "claude-code", "--print")
    asked = json.loads(install(world, "claude-code", "--print", "--json"))
    assert tree(world) == before
    install(world, "claude-code")
    written = (world / ".mcp.json").read_text("utf-8")
    assert shown.startswith(f"{world}/.mcp.json would be:\n\n{written}\n")
    assert (asked["content"], asked["action"], asked["backup"]) == (written, "added", None)
    assert f"\nclaude mcp add --env 'RAG_MCP_CORPUS_ROOT={world}/Grüße & Notizen' --env RAG_MCP_DB_PATH=" in shown
    assert f" --transport stdio --scope user rag -- {sys.executable.rpartition('/')[0]}/" in shown
    assert "claude mcp add" not in install(world, "cursor", "--print")
    assert not (world / "home" / ".cursor").exists()


@pytest.mark.parametrize(
    ("client", "held", "why"),
    [
        ("vscode", b'// mine\n{"servers": {}}', "not plain JSON"),
        ("vscode", b'{"servers": [1]}', '"servers" is not a JSON object'),
        ("cursor", b"\xff\xfe{}", "not UTF-8"),
        ("codex", b"[mcp_servers\n", "not TOML"),
        ("codex", b"mcp_servers = 1", "not a table"),
    ],
)
def test_a_file_that_cannot_be_merged_into_is_left_alone_and_the_entry_is_shown(
    world: Path, client: str, held: bytes, why: str
) -> None:
    (world / "c").write_bytes(held)
    before = tree(world)
    said = install(world, client, "--file", "c", code=2)
    assert said.startswith(f"rag-mcp: {world}/c: ")
    assert why in said
    assert "it was left as it is; put this in by hand:" in said
    text = said.partition("\n\n")[2]
    shown = tomllib.loads(text) if client == "codex" else json.loads(text)
    assert shown[CLIENTS[client].section]["rag"]["env"]["RAG_MCP_CORPUS_ROOT"] == str(world / "Grüße & Notizen")
    assert tree(world) == before


def test_comments_and_order_of_codex_s_file_are_kept(world: Path) -> None:
    file = world / "home" / ".codex" / "config.toml"
    file.parent.mkdir()
    held = '# mine\nmodel = "x" # why\n\n[mcp_servers.other]\ncommand = "o"\n\n# about z\n[z]\na = 1'
    file.write_text(held)
    install(world, "codex")
    assert file.read_text("utf-8").startswith(held + "\n\n[mcp_servers.rag]\ncommand = ")
    held = '[mcp_servers.rag] # ours\n# the program\ncommand = "old" # c\nextra = 1\n\n# about z\n[z]\na = 1\n'
    file.write_text(held)
    assert "replaced" in install(world, "codex")
    text = file.read_text("utf-8")
    assert [one for one in ("# ours", "# the program", "# c", "# about z", "a = 1\n") if one not in text] == []
    assert {*read(file)["mcp_servers"]["rag"]} == {"command", "args", "env"}
    assert read(file)["z"] == {"a": 1}
    inline = 'mcp_servers = {o = {command = "x"}} # all\nb = 1\n'
    file.write_text(inline)
    install(world, "codex")
    assert [*read(file)["mcp_servers"]] == ["o", "rag"]
    assert file.read_text("utf-8").endswith(" # all\nb = 1\n")


def test_toml_that_comes_out_saying_less_than_it_said_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("a = 1\n[mcp_servers.rag]\ncommand = 'x'\n")
    ours = Registration("rag", "c", (), ())
    honest = clients.draft(file, CLIENTS["codex"], ours).after.decode()
    assert tomllib.loads(honest) == {"a": 1, "mcp_servers": {"rag": {"command": "c", "args": [], "env": {}}}}
    monkeypatch.setattr("tomlkit.dumps", lambda document: honest.replace("a = 1", ""))
    with pytest.raises(Refused, match="cannot be changed safely"):
        clients.draft(file, CLIENTS["codex"], ours)


def test_a_link_stays_a_link_and_the_file_behind_it_is_changed(world: Path) -> None:
    (world / "dotfiles").mkdir()
    (world / "dotfiles" / "c.json").write_text("{}\n")
    (world / ".mcp.json").symlink_to(Path("dotfiles") / "c.json")
    install(world, "claude-code")
    assert (world / ".mcp.json").readlink() == Path("dotfiles") / "c.json"
    assert [*read(world / "dotfiles" / "c.json")["mcpServers"]] == ["rag"]
    assert sorted(path.name for path in (world / "dotfiles").iterdir()) == ["c.json", "c.json.bak"]
    (world / "round").symlink_to("round")
    assert "could not be read" in install(world, "claude-code", "--file", "round", code=2)


def test_what_cannot_be_written_or_read_is_a_sentence(world: Path) -> None:
    (world / "plain").write_text("")
    assert "plain/c.json: could not be" in install(world, "cursor", "--file", "plain/c.json", code=2)
    assert "home: could not be read (not a regular file)" in install(world, "cursor", "--file", "home", code=2)
    assert "could not be" in install(world, "cursor", "--file", "x" * 300, code=2)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_a_sentence(world: Path) -> None:
    (world / "ro").mkdir()
    (world / "ro" / "c.json").write_text("{}")
    (world / "ro").chmod(0o500)
    said = install(world, "cursor", "--file", "ro/c.json", code=2)
    assert "ro/c.json: could not be written (Permission denied); it was left as it is" in said
    assert [path.name for path in (world / "ro").iterdir()] == ["c.json"]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text("{}")
    draft = clients.draft(file, CLIENTS["cursor"], Registration("rag", "c", (), ()))
    file.write_text('{"new": 1}')
    with pytest.raises(Refused, match="changed while"):
        clients.write(draft)
    assert tree(tmp_path) == {"c.json": b'{"new": 1}'}


def test_wrong_usage_is_a_sentence_that_says_what_would_be_right(world: Path) -> None:
    unknown = start(world, "install", "emacs")
    assert unknown.returncode == 2
    assert ", ".join(f"'{client}'" for client in PLACES) in unknown.stderr
    nothing = start(world, "install", "cursor", "--db", "s")
    assert (nothing.returncode, "--corpus ROOT" in nothing.stderr) == (2, True)
    assert "is not a folder" in install(world, "cursor", corpus="absent", code=2)
    assert "(--name)" in install(world, "cursor", "--name", "a b", code=2)
    assert tree(world / "home") == {}


def test_the_command_line_offers_the_clients_that_there_are() -> None:
    [client] = [one for one in cli.commands["install"].params if one.name == "client"]
    assert tuple(client.type.choices) == tuple(CLIENTS) == tuple(PLACES)  # type: ignore[attr-defined]
