"""`schedule` and `tick` as a user types them; the system's own programs are stand-ins that write down their calls."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from storecheck import ingest, write_corpus
from test_cli import ROOT, rag

from rag_mcp.adapters.lock import WriterLock
from rag_mcp.adapters.ticking import LARGEST, note

STANDIN = """#!/bin/sh
printf '%s' "$(basename "$0")" >> "$CALLS"
for word in "$@"; do printf ' [%s]' "$word" >> "$CALLS"; done; echo >> "$CALLS"
case "$(basename "$0") $1" in
    "crontab -l") if [ -f "$TABLE" ]; then cat "$TABLE"; else echo "no crontab for you" >&2; exit 1; fi;;
    "crontab -") cat > "$TABLE";;
esac
[ -z "$BROKEN" ] || { echo "it is broken" >&2; exit 9; }
"""
NAMES = ("systemctl", "crontab", "schtasks")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_corpus(tmp_path / "my 100% notes", pages=2, sections=2)
    (tmp_path / "bin").mkdir()
    for name in NAMES:
        (tmp_path / "bin" / name).write_text(STANDIN)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def scheduled(home: Path, *arguments: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    world = {
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "CALLS": str(home / "calls"),
        "TABLE": str(home / "table"),
        "BROKEN": "",
        "XDG_CONFIG_HOME": str(home / "config"),
        **env,
    }
    return rag(home, "schedule", "my 100% notes", *arguments, code=code, env=world)


def calls(home: Path) -> list[str]:
    return (home / "calls").read_text().splitlines() if (home / "calls").exists() else []


def test_printing_writes_nothing(home: Path) -> None:
    before = sorted(home.rglob("*"))
    for kind in ("systemd", "cron", "windows"):
        shown = scheduled(home, "--kind", kind, "--db", "s").stdout
        assert shown.endswith("# nothing has been written; --install does it, --remove takes it out again\n")
    assert scheduled(home, "--kind", "cron", "--print").stdout.startswith("*/15 * * * * ")
    assert sorted(home.rglob("*")) == before


def test_a_systemd_timer_is_installed_verified_and_removed(home: Path) -> None:
    scheduled(home, "--kind", "systemd", "--install", "--every", "30m", "--embedder", "hash", "--exclude", "a b/*")
    units = sorted((home / "config" / "systemd" / "user").iterdir())
    assert [unit.suffix for unit in units] == [".service", ".timer"]
    assert "OnUnitActiveSec=30min" in units[1].read_text()
    assert '"--exclude"' not in units[0].read_text()
    assert ' --exclude "a b/*"' in units[0].read_text()
    name = units[1].name
    assert calls(home) == ["systemctl [--user] [daemon-reload]", f"systemctl [--user] [enable] [--now] [{name}]"]
    if program := shutil.which("systemd-analyze"):
        done = subprocess.run(
            [program, "verify", "--user", *units],
            env={**os.environ, "XDG_RUNTIME_DIR": str(home)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
    scheduled(home, "--kind", "systemd", "--install", "--every", "1h")
    assert "OnUnitActiveSec=60min" in units[1].read_text()
    scheduled(home, "--kind", "systemd", "--remove")
    assert not any(unit.exists() for unit in units)
    assert calls(home)[-2:] == [f"systemctl [--user] [disable] [--now] [{name}]", "systemctl [--user] [daemon-reload]"]
    assert "not there; nothing was changed" in scheduled(home, "--kind", "systemd", "--remove").stdout


def test_a_crontab_line_is_put_in_replaced_and_taken_out_and_other_lines_stay(home: Path) -> None:
    (home / "table").write_text("# mine\n0 5 * * * backup\n")
    scheduled(home, "--kind", "cron", "--install")
    scheduled(home, "--kind", "cron", "--install", "--every", "1h")
    scheduled(home, "--kind", "cron", "--install", "--full")
    lines = (home / "table").read_text().splitlines()
    assert lines[:2] == ["# mine", "0 5 * * * backup"]
    assert [line.split(" /")[0] for line in lines[2:]] == ["0 * * * *", "0 3 * * 0"]
    assert r"my 100\% notes" in lines[2]
    scheduled(home, "--kind", "cron", "--remove")
    scheduled(home, "--kind", "cron", "--remove", "--full")
    assert (home / "table").read_text() == "# mine\n0 5 * * * backup\n"


def test_the_line_of_a_crontab_does_what_it_says_when_the_shell_runs_it(home: Path) -> None:
    scheduled(home, "--kind", "cron", "--install", "--db", "s", "--embedder", "hash", "--log", "my log")
    command = (home / "table").read_text().rstrip("\n").split(" ", 5)[5].replace("\\%", "%")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home)}
    done = subprocess.run(["sh", "-c", command], cwd="/", env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert re.fullmatch(r"\S+Z exit 0 generation 1: 2 ingested, .*\n", (home / "my log").read_text())


def test_an_embedder_of_the_environment_is_written_down_only_until_there_is_a_store(home: Path) -> None:
    assert "--embedder hash" in scheduled(home, "--kind", "cron", "--db", "s", RAG_MCP_EMBEDDER="hash").stdout
    ingest(home / "my 100% notes", home / "s")
    assert "--embedder" not in scheduled(home, "--kind", "cron", "--db", "s", RAG_MCP_EMBEDDER="hash").stdout
    assert "--embedder hash" in scheduled(home, "--kind", "cron", "--db", "s", "--embedder", "hash").stdout


def test_what_cannot_be_scheduled_is_refused_in_a_sentence(home: Path) -> None:
    assert "that divide 60" in scheduled(home, "--kind", "cron", "--every", "7m", code=2).stderr
    assert "--every '7'" in scheduled(home, "--every", "7", code=2).stderr
    broken = scheduled(home, "--kind", "systemd", "--install", code=2, BROKEN="1").stderr
    assert broken == "rag-mcp: systemctl --user daemon-reload failed (it is broken)\n"
    (home / "table").write_text("0 5 * * * backup\n")
    assert "crontab -l failed" in scheduled(home, "--kind", "cron", "--install", code=2, BROKEN="1").stderr
    assert (home / "table").read_text() == "0 5 * * * backup\n"


def test_a_tick_is_silent_adds_a_line_and_counts_a_busy_store_as_success(home: Path) -> None:
    (home / "my 100% notes").rename(home / "notes")
    tick = ("tick", "notes", "--db", "s", "--embedder", "hash", "--log", "log")
    assert rag(home, *tick).stdout == ""
    lock = WriterLock(home / "s")
    lock.acquire().unwrap()
    lock.announce()
    busy = rag(home, *tick)
    assert (busy.stdout, busy.stderr) == ("", "")
    lock.release()
    (home / "notes" / "binary.md").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe\x00")
    rag(home, *tick, code=4)
    assert "not one of" in rag(home, *tick, "--embedder", "nonsense", code=2).stderr
    shutil.rmtree(home / "notes")
    assert "no such folder" in rag(home, *tick, code=1).stderr
    codes = re.findall(r"^\S+Z exit (\d) \S.*$", (home / "log").read_text(), re.MULTILINE)
    assert codes == ["0", "3", "4", "2", "1"]
    assert (home / "log").read_text().count("\n") == 5


def test_a_tick_that_embeds_all_again_leaves_what_a_build_leaves(home: Path) -> None:
    notes = home / "my 100% notes"
    ingest(notes, home / "s")
    rag(home, "tick", str(notes), "--db", "s", "--log", "log", "--full")
    said = (home / "log").read_text()
    assert "2 ingested" in said
    assert " 0 texts embedded" not in said


def test_a_log_near_five_megabytes_is_set_aside_and_one_that_cannot_be_written_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "log"
    note(log, "first\n")
    log.write_bytes(b"x" * (LARGEST - 3))
    note(log, "next\n")
    note(log, "and more\n")
    assert log.read_text() == "next\nand more\n"
    assert (tmp_path / "logs" / "log.1").stat().st_size == LARGEST - 3
    note(tmp_path, "a folder\n")
    assert "the log could not be written" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["reingest", "reingest-clean"])
def test_the_scripts_for_windows_find_their_folder_read_a_local_file_and_leave_the_rest_to_tick(name: str) -> None:
    data = (ROOT / "scripts" / f"{name}.bat").read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n"), "cmd wants both characters at each line end"
    text = data.decode("ascii")
    assert 'set "HERE=%~dp0"' in text
    assert '"%HERE%corpus.local.txt"' in text
    assert "scripts/corpus.local.txt" in (ROOT / ".gitignore").read_text()
    (command,) = [line for line in text.splitlines() if " tick " in line]
    assert ("--full" in command) == (name == "reingest-clean")
    assert text.splitlines()[-1] == "exit /b %ERRORLEVEL%"
    assert not re.search(r"[A-Za-z]:\\", text), "a path of one machine"
