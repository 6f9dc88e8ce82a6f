"""Compares the number of tests that README.md states with what pytest said last.

    python -m pytest -n auto | tee pytest.log; python scripts/check_readme_counts.py pytest.log
    python -m pytest --collect-only -q | python scripts/check_readme_counts.py --write      puts the number in

What is compared is passed plus skipped, so an expected skip is no drift; of several summaries the last one counts.
0 they agree (or the number was written)   1 they differ   2 the claim, or the summary, is missing
"""

import argparse
import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
CLAIM = re.compile(r"\b(\d[\d,]*)(?= tests are collected\b)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_SUMMARY = re.compile(
    r"=* ?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*|no tests ran) in [\d.]+s(?: \([\d:, a-z]+\))? ?=*", re.ASCII
)
_COLLECTED = re.compile(r"=* ?(?P<count>\d+)(?:/\d+)? tests? collected(?: \([^)]*\))? in [\d.]+s(?: \([^)]*\))? ?=*")


def claimed(readme: str) -> int | None:
    """The number that the README states; None where it states none, or several that differ."""
    found = {int(number.replace(",", "")) for number in CLAIM.findall(readme)}
    return found.pop() if len(found) == 1 else None


def summed(output: str) -> int | None:
    """Passed plus skipped of the last summary in what pytest said, or the number it collected; None without one."""
    last = None
    for line in _COLOUR.sub("", output).splitlines():
        if match := _SUMMARY.fullmatch(line.strip()):
            counts = {kind: int(number) for number, kind in _COUNT.findall(match["counts"])}
            last = counts.get("passed", 0) + counts.get("skipped", 0)
        elif match := _COLLECTED.fullmatch(line.strip()):
            last = int(match["count"])
    return last


def main(arguments: list[str] | None = None) -> int:
    """Compare or write; -> the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("log", nargs="?", default="-", help="what pytest said; - is standard input")
    parser.add_argument("--readme", type=Path, default=README)
    parser.add_argument("--write", action="store_true", help="put the number into the README")
    given = parser.parse_args(arguments)
    try:
        log = sys.stdin.read() if given.log == "-" else Path(given.log).read_text("utf-8", "replace")
        readme = given.readme.read_bytes().decode("utf-8")
    except OSError as error:
        return _said(2, f"{error.filename}: {error.strerror}")
    stated, live = claimed(readme), summed(log)
    if live is None:
        return _said(2, "no summary of pytest was found in what was given")
    if not CLAIM.search(readme) or (stated is None and not given.write):
        return _said(2, f"{given.readme.name} states no number, or several: 'N tests are collected' was looked for")
    if given.write:
        given.readme.write_bytes(CLAIM.sub(str(live), readme).encode("utf-8"))
        return _said(0, f"{given.readme.name} states {live} tests")
    if stated != live:
        return _said(1, f"{given.readme.name} states {stated} tests, pytest counted {live}; write it with --write")
    return _said(0, f"{given.readme.name} and pytest agree: {live} tests")


def _said(code: int, sentence: str) -> int:
    print(sentence, file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
