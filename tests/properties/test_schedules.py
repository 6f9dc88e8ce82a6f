"""What a scheduler is told is read back as the very words that were meant; each reader here follows its manual."""

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.schedules import Job, cron, flaw, interval, systemd, windows, with_line

awkward = st.text(st.sampled_from("ab %$\\\"';#&()ü\t/=-{}*~"), min_size=1, max_size=12)
jobs = st.builds(
    Job,
    st.from_regex(r"rag-mcp-[a-z0-9]{1,8}", fullmatch=True),
    st.lists(awkward, min_size=1, max_size=5).map(lambda words: ("/r" + words[0], *words[1:])),
    st.sampled_from((1, 5, 15, 30, 60, 120, 1440, 10080)),
    awkward,
)
PERCENT = Job("rag-mcp-a", ("/rag mcp/bin", "tick", '/notes of me/100% "notes" $HOME\'s'), 15, "100%")


def unit_words(line: str) -> list[str]:
    """systemd.syntax(7), systemd.service(5): words in "", C escapes, then specifiers, then variables."""
    words, at = [], 0
    while at < len(line):
        quoted, word = line[at] == '"', ""
        at += quoted
        while at < len(line) and line[at] != ('"' if quoted else " "):
            if line[at] == "\\":
                word += {"t": "\t"}.get(line[at + 1], line[at + 1])
                at += 2
            else:
                word += line[at]
                at += 1
        at += quoted
        words.append(word)
        at += 1
    plain = []
    for n, word in enumerate(words):
        assert "%" not in word.replace("%%", ""), "a specifier"
        word = word.replace("%%", "%")
        if n:
            assert "$" not in word.replace("$$", ""), "a variable"
            word = word.replace("$$", "$")
        plain.append(word)
    return plain


def cron_words(line: str) -> list[str]:
    """crontab(5): five fields; the rest up to a % that is not escaped goes to the shell, without the backslashes."""
    command = line.split(" ", 5)[5]
    kept = command.replace("\\%", "\0")
    assert "%" not in kept, "an input line"
    return shlex.split(kept.replace("\0", "%"), comments=True)


def windows_words(text: str) -> list[str]:
    """CommandLineToArgvW, for text without quotation marks inside words."""
    words, word, quoted, at, begun = [], "", False, 0, False
    while at < len(text):
        if text[at] == "\\":
            run = len(text[at:]) - len(text[at:].lstrip("\\"))
            before_mark = text[at + run : at + run + 1] == '"'
            word += "\\" * (run // 2 if before_mark else run)
            assert not (before_mark and run % 2), "an escaped mark"
            at, begun = at + run, True
        elif text[at] == '"':
            quoted, begun, at = not quoted, True, at + 1
        elif text[at] in " \t" and not quoted:
            words += [word] if begun else []
            word, begun, at = "", False, at + 1
        else:
            word, begun, at = word + text[at], True, at + 1
    assert not quoted
    return [*words, word] if begun else words


@given(jobs)
@example(PERCENT)
def test_systemd_reads_the_words_that_were_meant(job: Job) -> None:
    service = systemd(job)[f"{job.name}.service"]
    (line,) = [line for line in service.splitlines() if line.startswith("ExecStart=")]
    assert unit_words(line.removeprefix("ExecStart=")) == list(job.words)
    assert "WantedBy=timers.target" in systemd(job)[f"{job.name}.timer"]


@given(jobs)
@example(PERCENT)
def test_cron_reads_the_words_that_were_meant(job: Job) -> None:
    line = cron(job).unwrap()
    assert cron_words(line) == list(job.words)
    assert line.endswith(f" # {job.name}")


@given(jobs)
@example(PERCENT)
def test_task_scheduler_reads_the_words_that_were_meant_or_they_are_refused(job: Job) -> None:
    match windows(job):
        case Success(words):
            assert windows_words(words[-1]) == list(job.words)
            assert len(words[-1]) <= 261
        case Failure(_):
            assert any('"' in word for word in job.words) or len(" ".join(job.words)) > 200


@given(st.text("ab #\n\r*/%", max_size=60), jobs)
def test_a_crontab_keeps_every_other_line(crontab: str, job: Job) -> None:
    line = cron(job).unwrap()
    put = with_line(crontab, job.name, line)
    assert with_line(put, job.name, line) == put
    assert with_line(put, job.name, None).rstrip("\n") == with_line(crontab, job.name, None).rstrip("\n")
    assert put.endswith(f"{line}\n")
    assert put.startswith(with_line(crontab, job.name, None))


def test_times_are_those_that_were_asked_for() -> None:
    assert [interval(text) for text in ("15m", "2h", "1d", "1w", "90min")] == list(
        map(Success, (15, 120, 1440, 10080, 90))
    )
    assert all(isinstance(interval(text), Failure) for text in ("", "0m", "-1h", "15", "m", "1.5h", "15s"))
    times = {
        minutes: cron(Job("n", ("x",), minutes, "")).map(lambda line: line.rsplit(" x", 1)[0]).value_or("")
        for minutes in (1, 7, 15, 45, 60, 120, 300, 1440, 2880, 10080)
    }
    assert times == {
        1: "* * * * *", 7: "", 15: "*/15 * * * *", 45: "", 60: "0 * * * *", 120: "0 */2 * * *", 300: "",
        1440: "0 3 * * *", 2880: "", 10080: "0 3 * * 0",
    }  # fmt: skip
    assert "OnUnitActiveSec=15min" in systemd(PERCENT)["rag-mcp-a.timer"]
    assert "Persistent=true" in systemd(Job("n", ("x",), 10080, ""))["n.timer"]


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\0b"])
def test_a_line_end_in_a_path_is_refused(bad: str) -> None:
    assert flaw(Job("n", ("/x", bad), 15, "")) is not None
    assert flaw(PERCENT) is None
