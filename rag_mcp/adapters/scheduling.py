"""The verb `schedule`: an ingest every so often, printed, or put into this user's scheduler and taken out again."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rag_mcp.adapters.cli_options import Options, corpus_of
from rag_mcp.adapters.registering import absolute, this_command
from rag_mcp.adapters.settings import DEFAULT_COLLECTION, Settings, is_folder, resolve
from rag_mcp.adapters.verbs import opened, warn
from rag_mcp.adapters.wiring import stored_pointer
from rag_mcp.effects.boundary import Refused, value
from rag_mcp.pure import exits, schedules
from rag_mcp.pure.errors import ConfigError
from rag_mcp.pure.paths import printable
from rag_mcp.pure.schedules import Job
from rag_mcp.pure.services import is_service


def schedule(options: Options) -> int:
    """Print, install or remove."""
    job = job_of(options)
    if options["act"] != "remove":
        _warn(options)
    kind = options["kind"] or usual_kind()
    act = {"print": show, "install": install, "remove": remove}[options["act"] or "print"]
    act(kind, job)
    return exits.DONE


def _warn(options: Options) -> None:
    """Say it where the job would send texts away; for a model of this machine nothing is looked for."""
    corpus = corpus_of(options, "schedule")
    settings = value(resolve(os.environ, corpus=corpus, store=options.get("db"), collection=options.get("collection")))
    pointer = stored_pointer(settings.folder)
    name = options.get("embedder") or settings.embedder or (pointer.embedder.name if pointer else "")
    if is_service(name):
        with opened(options, corpus=corpus) as index:
            warn(index)


def usual_kind() -> str:
    """What this system has: Task Scheduler, systemd where it runs for the user, else cron."""
    if sys.platform == "win32":
        return "windows"
    running = shutil.which("systemctl") and os.environ.get("XDG_RUNTIME_DIR")
    return "systemd" if running else "cron"


def job_of(options: Options) -> Job:
    """The command that a scheduler is to run: this installation, every path from the root, every setting named."""
    corpus = absolute(Path(corpus_of(options, "schedule")).expanduser())
    if not is_folder(corpus):
        raise Refused(ConfigError(f"the corpus {corpus} is not a folder; nothing was scheduled"))
    settings: Settings = value(
        resolve(
            os.environ,
            corpus=corpus,
            store=options.get("db"),
            collection=options.get("collection"),
            embedder=options.get("embedder"),
            engine=options.get("engine"),
        )
    )
    minutes = value(schedules.interval(options["every"] or ("1w" if options["full"] else "15m")))
    digest = hashlib.sha256(str(settings.folder).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = "-".join(filter(None, ("rag-mcp", re.sub(r"[^A-Za-z0-9]+", "-", corpus.name)[:30].strip("-"), digest)))
    job = Job(
        name + ("-full" if options["full"] else ""),
        (*this_command(), "tick", str(corpus), *_told(options, settings)),
        minutes,
        f"rag-mcp: {'all of ' if options['full'] else ''}{corpus.name} {'anew' if options['full'] else 'up to date'}",
    )
    if why := schedules.flaw(job):
        raise Refused(ConfigError(why))
    return job


def _told(options: Options, settings: Settings) -> list[str]:
    words = ["--db", str(absolute(settings.store))]
    if settings.collection != DEFAULT_COLLECTION:
        words += ["--collection", settings.collection]
    if options.get("embedder") or (settings.embedder and stored_pointer(settings.folder) is None):
        words += ["--embedder", str(settings.embedder)]  # else the store's own, which a cutover may change
    if settings.engine is not None:
        words += ["--engine", settings.engine]
    if settings.model_dir is not None:
        words += ["--model-dir", str(absolute(settings.model_dir))]
    for flag, given in (("--exclude", "exclude"), ("--handoff-mirror-basename", "handoff_mirror_basename")):
        words += [word for text in options[given] for word in (flag, text)]
    for flag, given in (("--allow-prune", "allow_prune"), ("--handoff-mirror-dir", "handoff_mirror_dir")):
        words += [flag, options[given]] if options[given] is not None else []
    if options["log"]:
        words += ["--log", str(absolute(Path(options["log"]).expanduser()))]
    flags = {"--full": "full", "--no-snapshot-dedupe": "no_snapshot_dedupe"}
    return [*words, *(flag for flag, given in flags.items() if options[given])]


def show(kind: str, job: Job) -> None:
    """What would be put where; nothing is written."""
    match kind:
        case "systemd":
            for name, text in schedules.systemd(job).items():
                click.echo(f"# {printable(str(units_folder() / name))}\n{text}")
            click.echo(f"# then: {'; '.join(shlex.join(words) for words in _starting(job))}")
        case "cron":
            click.echo(value(schedules.cron(job)))
        case _:
            click.echo(schedules.windows_line(value(schedules.windows(job))))
    click.echo("# nothing has been written; --install does it, --remove takes it out again")


def install(kind: str, job: Job) -> None:
    """Put it in; one of the same name is replaced."""
    match kind:
        case "systemd":
            folder = units_folder()
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in schedules.systemd(job).items():
                (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
            for words in _starting(job):
                _run(words)
            place = str(folder / f"{job.name}.timer")
        case "cron":
            _put_crontab(job.name, value(schedules.cron(job)))
            place = "your crontab"
        case _:
            _run(value(schedules.windows(job)))
            place = "Task Scheduler"
    click.echo(f"{job.name} runs every {job.minutes} minutes; it stands in {printable(place)}")


def remove(kind: str, job: Job) -> None:
    """Take it out; what is not there is no failure."""
    match kind:
        case "systemd":
            files = [path for name in schedules.systemd(job) if (path := units_folder() / name).exists()]
            if files:
                _run(("systemctl", "--user", "disable", "--now", f"{job.name}.timer"))
                for path in files:
                    path.unlink()
                _run(("systemctl", "--user", "daemon-reload"))
            found = bool(files)
        case "cron":
            found = _put_crontab(job.name, None)
        case _:
            _run(("schtasks", "/Delete", "/F", "/TN", job.name))
            found = True
    click.echo(f"{job.name} was {'removed' if found else 'not there; nothing was changed'}")


def units_folder() -> Path:
    """Where the user's own units are."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "systemd" / "user"


def _starting(job: Job) -> tuple[tuple[str, ...], ...]:
    return (
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", f"{job.name}.timer"),
    )


def _put_crontab(name: str, line: str | None) -> bool:
    """Write the crontab with the line; True where that changed it."""
    listed = _run(("crontab", "-l"), may_fail=True)
    before = listed.stdout
    if listed.returncode and "no crontab" not in listed.stderr.lower():
        raise Refused(ConfigError(f"crontab -l failed ({_first_line(listed.stderr)}); nothing was changed"))
    after = schedules.with_line("" if listed.returncode else before, name, line)
    if after == ("" if listed.returncode else before):
        return False
    _run(("crontab", "-"), stdin=after)
    return True


def _run(words: Sequence[str], *, stdin: str = "", may_fail: bool = False) -> "subprocess.CompletedProcess[str]":
    try:
        done = subprocess.run(
            words, input=stdin, capture_output=True, text=True, check=False, errors="surrogateescape", encoding="utf-8"
        )
    except OSError as error:
        raise Refused(ConfigError(f"{words[0]} could not be run ({error.strerror}); see --kind")) from error
    if done.returncode and not may_fail:
        raise Refused(ConfigError(f"{shlex.join(words)} failed ({_first_line(done.stderr)})"))
    return done


def _first_line(text: str) -> str:
    return printable(next(iter(text.strip().splitlines()), "no word"))
