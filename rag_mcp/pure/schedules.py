r"""An ingest every so often, in the words of three schedulers; each has its own idea of what must be quoted.

systemd   words in "…", \ and " escaped; % doubled (specifiers), $ doubled save in the program's name (variables)
cron      the shell's quoting; % as \%, which cron takes for a line end even within quotes
windows   words in "…" within the "…" of /TR, so inner ones are \"; 261 characters are all that /TR takes
"""

import re
import shlex
from collections.abc import Mapping

from attrs import frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.config_error import ConfigError
from rag_mcp.pure.shown import Shown

KINDS = ("systemd", "cron", "windows")
HOUR, DAY, WEEK = 60, 24 * 60, 7 * 24 * 60
TR_LONGEST = 261
_UNITS = {"m": 1, "h": HOUR, "d": DAY, "w": WEEK}
_EVERY = re.compile(r"([1-9]\d{0,5})(min|[mhdw])")
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")


@frozen(repr=False)
class Job(Shown):
    """What is to be run, how often (minutes), and the name by which it is found again."""

    name: str
    words: tuple[str, ...]
    minutes: int
    about: str


def interval(text: str) -> Result[int, ConfigError]:
    """Minutes of "15m", "1h", "1d" or "1w"."""
    if match := _EVERY.fullmatch(text.strip().lower()):
        return Success(int(match[1]) * _UNITS[match[2][0]])
    return Failure(ConfigError(f"--every {text!r}: write a number and m, h, d or w, as in 15m or 1h"))


def flaw(job: Job) -> str | None:
    """Why no scheduler can be told, or None."""
    bad = next((word for word in (*job.words, job.about) if any(char in word for char in "\n\r\0")), None)
    return f"{bad!a} has a line end in it, which no scheduler can hold" if bad else None


def systemd(job: Job) -> Mapping[str, str]:
    """A user service and its timer: file name -> text. Days and weeks are by the calendar, at three at night."""
    program, *arguments = job.words
    command = " ".join([_unit_word(program, program=True), *(_unit_word(word) for word in arguments)])
    head = f"[Unit]\nDescription={job.about.replace('%', '%%')}\n\n"
    when = {
        DAY: "OnCalendar=*-*-* 03:00:00\nPersistent=true",
        WEEK: "OnCalendar=Sun *-*-* 03:00:00\nPersistent=true",
    }.get(job.minutes, f"OnActiveSec=1min\nOnUnitActiveSec={job.minutes}min")
    return {
        f"{job.name}.service": f"{head}[Service]\nType=oneshot\nNice=10\nExecStart={command}\n",
        f"{job.name}.timer": f"{head}[Timer]\n{when}\n\n[Install]\nWantedBy=timers.target\n",
    }


def cron(job: Job) -> Result[str, ConfigError]:
    """A line of a crontab, its name as a comment at the end; refused where cron cannot be even."""
    when = _cron_times(job.minutes)
    if when is None:
        return Failure(
            ConfigError("cron cannot do that evenly: use minutes that divide 60, hours that divide 24, 1d or 1w")
        )
    return Success(f"{when} {shlex.join(job.words)} # {job.name}".replace("%", r"\%"))


def with_line(crontab: str, name: str, line: str | None) -> str:
    """A crontab with the line of this name put in, replaced, or (None) taken out; all other lines as they are."""
    kept = [each for each in crontab.splitlines(keepends=True) if not each.rstrip("\r\n").endswith(f" # {name}")]
    if line is not None:
        if kept and not kept[-1].endswith("\n"):
            kept[-1] += "\n"
        kept.append(f"{line}\n")
    return "".join(kept)


def windows(job: Job) -> Result[tuple[str, ...], ConfigError]:
    """The words of a schtasks command; refused where /TR could not hold it."""
    if any('"' in word for word in job.words):
        return Failure(ConfigError("a path with a quotation mark in it cannot be a path of Windows"))
    run = " ".join(_windows_word(word) for word in job.words)
    if len(run) > TR_LONGEST:
        return Failure(
            ConfigError(
                f"the command has {len(run)} characters, and schtasks takes {TR_LONGEST}: schedule"
                " scripts\\reingest.bat instead, which finds its own folder"
            )
        )
    unit, step = ("MINUTE", job.minutes) if job.minutes < DAY else ("DAILY", job.minutes // DAY)
    start = ("/ST", "03:00") if unit == "DAILY" else ()
    return Success(("schtasks", "/Create", "/F", "/TN", job.name, "/SC", unit, "/MO", str(step), *start, "/TR", run))


def windows_line(words: tuple[str, ...]) -> str:
    """The words as they are typed."""
    return " ".join(word if _PLAIN.fullmatch(word) else '"' + word.replace('"', '\\"') + '"' for word in words)


def _unit_word(word: str, *, program: bool = False) -> str:
    text = word.replace("%", "%%")
    if not program:
        text = text.replace("$", "$$")
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def _windows_word(word: str) -> str:
    if word and not re.search(r"[\s&()^;,=|<>]", word):
        return word
    doubled = word + "\\" * (len(word) - len(word.rstrip("\\")))  # a backslash before the closing mark would escape it
    return f'"{doubled}"'


def _cron_times(minutes: int) -> str | None:
    if minutes < HOUR and HOUR % minutes == 0:
        return f"*/{minutes} * * * *" if minutes > 1 else "* * * * *"
    if minutes == HOUR:
        return "0 * * * *"
    hours, rest = divmod(minutes, HOUR)
    if minutes < DAY and not rest and 24 % hours == 0:
        return f"0 */{hours} * * *"
    return {DAY: "0 3 * * *", WEEK: "0 3 * * 0"}.get(minutes)
