"""Writes sample-corpus/: six documents of an invented platform team, one for each thing that front matter can say.

    python tools/gen_sample_corpus.py              write it anew
    python tools/gen_sample_corpus.py --check      exit code 1 where the folder is not what would be written
    python tools/gen_sample_corpus.py FOLDER       write it elsewhere

The same text every time, on every machine.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "sample-corpus"

README = """\
# Halyard platform team

We run the booking platform of a harbour: berths, pilots and tugs. Everything in this folder is made up.

- `oncall.md` says who is called when something breaks, and how.
- `runbooks/` says what to do about it.
- `decisions/` says why things are as they are. A decision is never edited, only superseded.

Ask in the channel #halyard before you change a page that is not yours.
"""

ONCALL = """\
---
title: On call
---

# On call

## Who gets paged

In the most severe incidents (SEV1: nobody can book a berth) three people get paged at the same moment: the primary
on-call engineer, the secondary on-call engineer and the incident commander of the week. The harbour master's desk gets
a call from the incident commander within ten minutes.

In a severe incident (SEV2) only the primary is paged; the secondary follows when nobody has answered for ten minutes.
Everything else waits for the morning, and nobody is paged.

## The week

The pager changes hands on Monday at noon. Whoever carries it answers within five minutes by day and ten by night, and
is not expected to do planned work that week.
"""

OPERATIONS = """\
---
title: Operations handbook
rag_chunk: headings
---

# Operations handbook

## Rotate a signing key

Signing keys of the booking service live for ninety days. To replace one without logging everybody out:

1. Create the new key in the vault under `booking/signing`, with the next number as its name.
2. Deploy the service. It signs with the newest key and accepts every key that has not been revoked.
3. Wait for one hour, until no token signed by the old key can still be alive.
4. Revoke the old key in the vault.

Never revoke first: every berth terminal would be logged out in the middle of a shift.

## When a key has leaked

Revoke it at once and accept that terminals are logged out. Warn the harbour office before you do, so that they can
switch to paper slips.

## Roll back a deployment

`halyardctl rollback booking` brings back the release before the current one within a minute. Database migrations are
not undone: each is written so that the release before it still works. Say in the channel which release is running.

## The tide feed is stale

Water levels come from the tide office as a file every ten minutes. Berth planning refuses to plan a deep ship when the
newest level is older than an hour, and shows `ERR_TIDE_STALE`.

- Look at the page of the tide office first. If it is down, nothing here will help.
- If the file is there but not fetched, the certificate of the fetcher has usually expired: renew it with
  `halyardctl cert renew tide-fetcher` and wait for ten minutes.
- For an urgent ship the planner may enter a level by hand. It counts for one hour and is shown in red.

## Words of the harbour

A berth is a place at the quay where one ship lies. Draught is how deep a ship reaches below the water. Laytime is the
time that a charterer has for loading; demurrage is what is paid for every hour beyond it.
"""

BACKUPS = """\
# Backups

The booking database is dumped every night at 02:30 and shipped to a second site. Write-ahead logs follow every five
minutes, so at most five minutes of bookings can be lost.

## Restore

1. Stop the booking service: `halyardctl stop booking`.
2. Fetch the newest dump: `halyardctl backup fetch --latest`.
3. Load it and replay the logs: `halyardctl backup restore --until "2031-04-02 10:15"`.
4. Compare the number of open bookings with the paper list of the harbour office.
5. Start the service again.

A restore takes about forty minutes. Say so in the channel, people will ask.

## Restore drill

On the first Tuesday of each quarter somebody who has never done it restores into the test site, following only this
page. What was unclear is mended here the same day.
"""

OLD_ROTA = """\
---
title: "DEC-0007: one pager for the whole team"
lifecycle: superseded
---

# DEC-0007: one pager for the whole team

Superseded by `oncall.md`.

One phone rings for the entire team, whatever has happened, and whoever is nearest takes it. We have five engineers,
and a rota would be more work than it saves.
"""

REVIEWS = """\
---
title: Review notes
rag: false
---

# Review notes

Notes on colleagues are nobody's search result: `rag: false` leaves this page out of the index altogether.
"""

DOCUMENTS: Mapping[str, str] = {
    "README.md": README,
    "decisions/DEC-0007-one-pager.md": OLD_ROTA,
    "oncall.md": ONCALL,
    "people/reviews.md": REVIEWS,
    "runbooks/backups.md": BACKUPS,
    "runbooks/operations.md": OPERATIONS,
}


def write(folder: Path) -> None:
    """Write the documents; what else lies in the folder is left alone."""
    for name, text in DOCUMENTS.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())


def differences(folder: Path) -> list[str]:
    """The paths that are missing, other than they should be, or too many."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    wanted = {name: text.encode() for name, text in DOCUMENTS.items()}
    return sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))


def main(arguments: list[str]) -> int:
    """The command."""
    if arguments == ["--check"]:
        wrong = differences(FOLDER)
        print("\n".join(f"{name} is not what the generator writes" for name in wrong) or "as it is generated")
        return bool(wrong)
    write(Path(arguments[0]) if arguments else FOLDER)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
