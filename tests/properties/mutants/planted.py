"""Faults that were, or could be, made in the core: what to put in place of which text, and who must notice.

A fault is text for text, so that the list cannot rot: `test_mutants.py` holds that every `old` stands exactly once.
"""

from attrs import frozen

PLANNING = "tests/properties/test_planning.py"
HISTORY = "tests/properties/test_history.py"
POLICY = "tests/properties/test_search_policy.py"
CODEC = "tests/properties/test_codec.py"
RENDER = "tests/properties/test_render.py"
QUERY = "tests/properties/test_query.py"
JUDGING = "tests/properties/test_judging.py"
COMPARING = "tests/properties/test_comparing.py"
METRICS = "tests/properties/test_metrics.py"
CHUNKING = "tests/properties/test_chunking.py"
DECODING = "tests/properties/test_decoding.py"
MODEL = "tests/properties/test_block_model.py"
COVERAGE = "tests/properties/test_coverage.py"
SNAPSHOTS = "tests/properties/test_snapshots.py"
DATES = "tests/properties/test_dates.py"
CITING = "tests/properties/test_citing.py"
MARKINGS = "tests/properties/test_markings.py"
LIFECYCLE = "tests/test_lifecycle.py"
UNCHANGED = "tests/test_unchanged.py"
DOCTOR = "tests/properties/test_doctor.py"
TAILS = "tests/properties/test_tail.py"
TAIL = "tests/test_tail.py"


@frozen
class Fault:
    """`old` in `file` becomes `new`; each of `tests` must fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


FAULTS = (
    Fault(
        "identity without the weights' hash",
        "pure/identity.py",
        "return digest_of(asdict(self))",
        'return digest_of({name: part for name, part in asdict(self).items() if name != "weights"})',
        (PLANNING,),
    ),
    Fault(
        "identity without the chunker's version",
        "pure/identity.py",
        "digest_of(self.reader_version, self.chunker_version, ",
        "digest_of(self.reader_version, ",
        (PLANNING,),
    ),
    Fault(
        "identity without the labelling",
        "pure/identity.py",
        "return digest_of(self.metadata_version, asdict(self.labelling))",
        "return digest_of(self.metadata_version)",
        (PLANNING,),
    ),
    Fault(
        "skip on equal bytes though rows are missing",
        "pure/recovery.py",
        "    if belief.rows.get(entry.path, NO_ROWS) != entry.rows:\n        return Reason.ROWS_MISSING\n",
        "",
        (PLANNING, HISTORY),
    ),
    Fault(
        "rows counted, their marks ignored",
        "pure/recovery.py",
        "belief.rows.get(entry.path, NO_ROWS) != entry.rows",
        "belief.rows.get(entry.path, NO_ROWS).count != entry.rows.count",
        (PLANNING,),
    ),
    Fault(
        "rows without a vector ignored",
        "pure/recovery.py",
        "    if entry.path in belief.vectorless:\n        return Reason.VECTORS_MISSING\n",
        "",
        (PLANNING, HISTORY),
    ),
    Fault(
        "evidence of the index ignored",
        "pure/recovery.py",
        "if index.found != index.expected:",
        "if False:",
        (PLANNING,),
    ),
    Fault(
        "an index that vanished ignored",
        "pure/recovery.py",
        '    if index.found is None:\n        return "its folder is missing or unreadable"\n',
        "    if index.found is None:\n        return None\n",
        (PLANNING,),
    ),
    Fault(
        "an index of more vectors than the rows name ignored",
        "pure/recovery.py",
        "if index.built_of != index.vectors:",
        "if False:",
        (PLANNING,),
    ),
    Fault(
        "prune of what is unreadable",
        "pure/pruning.py",
        "if unreadable.path == path or is_under(path, unreadable.path):",
        "if False:",
        (PLANNING, HISTORY),
    ),
    Fault(
        "prune of what lies under a gap",
        "pure/pruning.py",
        "if gap.path == path or is_under(path, gap.path):",
        "if gap.path == path:",
        (PLANNING, HISTORY),
    ),
    Fault(
        "prune of unseen rows that lost their entry",
        "pure/planning.py",
        "        if hidden := hidden_by(look, path):",
        "        if path in belief.entries and (hidden := hidden_by(look, path)):",
        (PLANNING, HISTORY),
    ),
    Fault(
        "what is gone is kept",
        "pure/planning.py",
        "    for path in known - seen:",
        "    for path in sorted(known - seen)[:1]:",
        (PLANNING,),
    ),
    Fault(
        "a move counted as a prune",
        "pure/planning.py",
        "elif path in left:",
        "elif False:",
        (PLANNING,),
    ),
    Fault(
        "the ceiling of prunes ignored",
        "pure/pruning.py",
        "if emptied or too_many else None",
        "if emptied else None",
        (PLANNING,),
    ),
    Fault(
        "an emptied root taken for an emptied corpus",
        "pure/pruning.py",
        "if emptied or too_many else None",
        "if too_many and not emptied else None",
        (PLANNING,),
    ),
    Fault(
        "a metadata change that embeds again",
        "pure/planning.py",
        "action = Write(keys, missing(keys, cached.known))",
        "action = Write(keys, keys if reason is Reason.METADATA_STALE else missing(keys, cached.known))",
        (PLANNING, HISTORY),
    ),
    Fault(
        "a text of two files embedded twice",
        "pure/planning.py",
        "tuple(key for key in action.embed if key not in taken)",
        "action.embed",
        (PLANNING,),
    ),
    Fault(
        "held rows left without vectors of a new embedder",
        "pure/planning.py",
        "missing(cached.rows.get(path, ()), cached.known))",
        "())",
        (PLANNING, HISTORY),
    ),
    Fault(
        "a change of embedder in several steps",
        "pure/planning.py",
        "    if plan.switches_embedder:\n        return",
        "    if False:\n        return",
        (PLANNING, HISTORY),
    ),
    Fault(
        "a change of embedder half applied",
        "effects/apply.py",
        "None if plan.switches_embedder else [f.path for f in segment]",
        "[f.path for f in segment]",
        (HISTORY,),
    ),
    Fault(
        "vectors shared across embedders",
        "adapters/record/queries.py",
        "select key from contents c where embedder = ? and exists",
        "select key from contents c where 0 <= ? and exists",
        (HISTORY,),
    ),
    Fault(
        "a quiet plan that should rebuild the index",
        "pure/plans.py",
        "return idle and self.rebuild is None and",
        "return idle and",
        (PLANNING,),
    ),
    Fault(
        "a doubted index cloned",
        "effects/apply.py",
        "base = pointer if plan.rebuild is None and built_of_these else None",
        "base = pointer if built_of_these else None",
        (HISTORY,),
    ),
    Fault(
        "an index cloned though lost vectors were made again",
        "effects/apply.py",
        "base = pointer if plan.rebuild is None and built_of_these else None",
        "base = pointer if plan.rebuild is None else None",
        (HISTORY,),
    ),
    Fault(
        "what came before the last change left out of the tail",
        "pure/tail.py",
        "Tail((self.came | (came - self.went)) - went,",
        "Tail((came - self.went) - went,",
        (TAILS, HISTORY),
    ),
    Fault(
        "what went and came back left out of an index that holds it",
        "pure/tail.py",
        "(self.went - came) | (went - self.came))",
        "self.went | (went - self.came))",
        (TAILS, HISTORY),
    ),
    Fault(
        "what went before it was indexed taken out of the index",
        "pure/tail.py",
        "(self.went - came) | (went - self.came))",
        "(self.went - came) | went)",
        (TAILS, HISTORY),
    ),
    Fault(
        "what went found by the index",
        "pure/tail.py",
        "there = [pair for pair in found if pair[0] not in tail.went]",
        "there = list(found)",
        (TAILS,),
    ),
    Fault(
        "an index that is crowded only once the tail is in it",
        "pure/tail.py",
        "return Course.ANEW if crowded(slots + len(tail.came), vectors) else Course.CLONE",
        "return Course.CLONE",
        (TAILS,),
    ),
    Fault(
        "an index kept that the next run would make anew",
        "pure/tail.py",
        "    if crowded(slots, vectors):\n        return Course.ANEW\n",
        "",
        (TAILS,),
    ),
    Fault(
        "an index asked for no more than are wanted, though some of it went",
        "effects/retrieve.py",
        "found = opened.query(vector, n + len(tail.went))",
        "found = opened.query(vector, n)",
        (TAIL,),
    ),
    Fault(
        "a tail that is not scanned",
        "effects/retrieve.py",
        "if tail.came else []",
        "if tail.went else []",
        (TAIL, HISTORY),
    ),
    Fault(
        "the tail of an earlier commit kept",
        "effects/desk.py",
        "self.token, self.refused, self.proven, self.tail = token, None, False, None",
        "self.token, self.refused, self.proven = token, None, False",
        (TAIL,),
    ),
    Fault(
        "a generation that no commit names any more kept open",
        "effects/desk.py",
        "            if self.generation != named:\n",
        "            if self.generation != named and not self.opened:\n",
        (TAIL,),
    ),
    Fault(
        "an index that was lost meanwhile kept",
        "effects/apply.py",
        " and hands.index.evidence(base.indexed.folder) == base.indexed.evidence:",
        ":",
        (TAIL,),
    ),
    Fault(
        "two generations that nothing tells apart",
        "adapters/stores/chroma_client.py",
        '"made": os.urandom(16).hex()',
        '"made": "once"',
        (TAIL,),
    ),
    Fault(
        "a tail of another commit believed",
        "adapters/record/pointers.py",
        "return tail if mark == _mark(tail, token) else None",
        "return tail",
        (TAIL,),
    ),
    Fault(
        "an index that broke kept open",
        "effects/retrieve.py",
        "                self.desk.held.broke(opened, self.degraded)\n",
        "",
        (TAIL,),
    ),
    Fault(
        "edit, crash, go on: the manifest committed before the rows",
        "effects/apply.py",
        "    try:\n        with hands.record.commit() as tx:\n            before = tx.rids()\n",
        "    with hands.record.commit() as early:\n"
        "        for file in segment:\n"
        "            if isinstance(file.action, Write):\n"
        "                sql = 'update files set digest = ? where path = ?'\n"
        "                early._db.execute(sql, [file.digest, file.path])  # type: ignore[attr-defined]\n"
        '    hands.checkpoint("manifest committed")\n'
        "    try:\n        with hands.record.commit() as tx:\n            before = tx.rids()\n",
        (HISTORY,),
    ),
    Fault(
        "edit, crash, undo: rows committed before their manifest",
        "adapters/record/writer.py",
        """        values = lay.entry_values(entry)
""",
        """        values = lay.entry_values(entry)
        self._db.execute("commit")
        self._db.execute("begin immediate")
""",
        (HISTORY,),
    ),
    Fault(
        "orphans after a crash: the pointer committed by itself",
        "effects/apply.py",
        "            tx.point(_next_pointer(hands, plan, run, pointer, tx, before))\n"
        '            hands.checkpoint("committing")\n',
        "            following = _next_pointer(hands, plan, run, pointer, tx, before)\n"
        '        hands.checkpoint("committing")\n'
        "        with hands.record.commit() as tx:\n"
        "            tx.point(following)\n",
        (HISTORY,),
    ),
    Fault(
        "no transaction at all",
        "adapters/record/writer.py",
        '        if db.in_transaction:\n            db.execute("rollback")\n        raise',
        '        if db.in_transaction:\n            db.execute("commit")\n        raise',
        (HISTORY,),
    ),
    Fault(
        "vectors cached only when all are made",
        "effects/embed.py",
        "                record.cache(embedder.identity, vectors)\n",
        "                late = [*locals().get('late', []), *vectors]\n"
        "                if len(late) == len(texts):\n"
        "                    record.cache(embedder.identity, late)\n",
        (HISTORY,),
    ),
    Fault(
        "content keyed without its place",
        "adapters/record/writer.py",
        '"delete from rows where path = ?"',
        '"delete from rows where key in (select key from rows where path = ?)"',
        (HISTORY,),
    ),
    Fault(
        "keywords not taken out when rows are replaced",
        "adapters/record/writer.py",
        "[lay.keyword_values(row_id, entry[0], chunk) for row_id, chunk in gone]",
        "[]",
        (HISTORY,),
    ),
    Fault(
        "keywords taken out by a title that was lost",
        "adapters/record/writer.py",
        "            self._words_unknown = True",
        "            pass",
        (HISTORY,),
    ),
    Fault(
        "vectors that rows name anew not counted again in a transaction",
        "adapters/record/writer.py",
        "            for path in named:\n                self._touch(path)\n            orphan =",
        "            orphan =",
        (HISTORY,),
    ),
    Fault(
        "vectors that rows name no more not counted again in a transaction",
        "adapters/record/writer.py",
        "        self._touch((path,))\n",
        "",
        (HISTORY,),
    ),
    Fault(
        "a run told again whatever became of the store",
        "adapters/unchanged.py",
        "program, store, _corpus(found)",
        "program, _corpus(found)",
        (UNCHANGED,),
    ),
    Fault(
        "a run told again whatever became of the corpus",
        "adapters/unchanged.py",
        "program, store, _corpus(found)",
        "program, store",
        (UNCHANGED,),
    ),
    Fault(
        "a run told again that could not read what it had looked at",
        "effects/ingest.py",
        "unseen(look, read.others), still=still)",
        "unseen(look, read.others))",
        (UNCHANGED,),
    ),
    Fault(
        "a run told again though the store changed under it",
        "adapters/unchanged.py",
        "store is None or store != self.store or program",
        "store is None or program",
        (UNCHANGED,),
    ),
    Fault(
        "a run told again whatever else was asked",
        "adapters/unchanged.py",
        "repr((self.asked, program",
        "repr((program",
        (UNCHANGED,),
    ),
    Fault(
        "damaged keywords filled again after words were taken out of them",
        "effects/apply.py",
        "                tx.refill_keywords()\n            changes = [",
        "                pass\n            changes = [",
        (HISTORY,),
    ),
    Fault(
        "lost keywords ignored",
        "pure/planning.py",
        "refill_keywords=not belief.keywords_sound",
        "refill_keywords=False",
        (PLANNING, HISTORY),
    ),
    Fault(
        "the digest of what was seen kept with the rows of what was read",
        "effects/ingest.py",
        "    cached = _cached(eyes, settled, run, prepared, full=order.full)\n",
        "    digests = {s.path: s.digest for s in look.sightings}\n"
        "    for path, read in list(prepared.items()):\n"
        "        prepared[path] = evolve(read, digest=digests[path]) if isinstance(read, Document) else read\n"
        "    cached = _cached(eyes, settled, run, prepared, full=order.full)\n",
        (HISTORY,),
    ),
    Fault(
        "the digest of what was seen shown in the plan",
        "pure/planning.py",
        "_told(reason, prepared, belief), action, prepared.digest)",
        "_told(reason, prepared, belief), action, sighting.digest)",
        (PLANNING,),
    ),
    Fault(
        "snapshots: what repeats what is not told anew",
        "effects/apply.py",
        "repeats = regroup(tx, rule_of(plan.files, run))",
        "repeats = 0",
        (HISTORY,),
    ),
    Fault(
        "snapshots: repeats committed apart from their rows",
        "effects/apply.py",
        "            repeats = regroup(tx, rule_of(plan.files, run))\n",
        "            repeats = regroup(tx, rule_of(plan.files, run)) if unseen is not None else 0\n",
        (HISTORY,),
    ),
    Fault(
        "snapshots: the mark without the setting",
        "pure/snapshots.py",
        "return digest_of(RULE_VERSION, rule.dedupe, broken,",
        "return digest_of(RULE_VERSION, broken,",
        (SNAPSHOTS, HISTORY),
    ),
    Fault(
        "snapshots: the mark without what could not be read",
        "pure/snapshots.py",
        "return digest_of(RULE_VERSION, rule.dedupe, broken,",
        "return digest_of(RULE_VERSION, rule.dedupe,",
        (SNAPSHOTS, HISTORY),
    ),
    Fault(
        "snapshots: lost repeats ignored",
        "pure/regrouping.py",
        "if belief.grouped.sound and belief.grouped.mark ==",
        "if belief.grouped.mark ==",
        (SNAPSHOTS, HISTORY),
    ),
    Fault(
        "snapshots: what is held compared as if it were known",
        "pure/snapshots.py",
        "waiting = before.get(same) if path not in broken else None",
        "waiting = before.get(same)",
        (SNAPSHOTS,),
    ),
    Fault(
        "snapshots: an unreadable day does not break the run",
        "pure/snapshots.py",
        "        before = {} if path in broken else now\n",
        "        before = before if path in broken else now\n",
        (SNAPSHOTS, HISTORY),
    ),
    Fault(
        "snapshots: a run that points at the day before",
        "pure/snapshots.py",
        "append(found.get(place, place))",
        "append(place)",
        (SNAPSHOTS,),
    ),
    Fault(
        "snapshots: copies not counted",
        "pure/snapshots.py",
        "waiting.pop(0)",
        "waiting[0]",
        (SNAPSHOTS,),
    ),
    Fault(
        "snapshots: a value that comes back taken for the old one",
        "pure/snapshots.py",
        "        before = {} if path in broken else now\n",
        "        before = {} if path in broken else before | now\n",
        (SNAPSHOTS,),
    ),
    Fault(
        "snapshots: two files make a series",
        "pure/snapshots.py",
        "LEAST = 3\n",
        "LEAST = 2\n",
        (SNAPSHOTS,),
    ),
    Fault(
        "snapshots: equal keys of other bytes or another class taken for equal",
        "pure/snapshots.py",
        "        undated_headings(chunk.text, names, date),\n",
        '        "",\n',
        (DATES,),
    ),
    Fault(
        "snapshots: a run that only tells repeats anew taken for quiet",
        "pure/plans.py",
        "self.refill_keywords or self.regroup)",
        "self.refill_keywords)",
        (SNAPSHOTS, HISTORY),
    ),
    Fault(
        "passages grouped by vector, not by text",
        "pure/citations.py",
        "grouped((row.text, row) for row in ordered)",
        "grouped((row.rid, row) for row in ordered)",
        (POLICY,),
    ),
    Fault(
        "a filter that shortens the answer",
        "pure/stages.py",
        "    if heard.passages >= query.k:\n",
        "    if heard.passages >= query.k or heard.exhausted or isinstance(heard.step, Ask):\n",
        (POLICY,),
    ),
    Fault(
        "a plan file read with good will",
        "pure/codec.py",
        "    if type(value) is not kind:\n",
        "    if False:\n",
        (CODEC,),
    ),
    Fault(
        "an escape sequence in a path printed as it is",
        "pure/render.py",
        "    return printable(file.path) + (",
        "    return file.path + (",
        (RENDER,),
    ),
    Fault(
        "a k that is no number converted",
        "pure/query.py",
        "math.isnan(value)",
        "value == math.inf",
        (QUERY,),
    ),
    Fault(
        "golden: characters returned twice counted as covered twice",
        "pure/metrics.py",
        "for have in _union(returned) for want",
        "for have in returned for want",
        (METRICS,),
    ),
    Fault(
        "golden: a gain that is not discounted by its rank",
        "pure/metrics.py",
        "gain / log2(rank + 1)",
        "gain / log2(rank + 2)",
        (METRICS,),
    ),
    Fault(
        "golden: a passage right by any character that it shares",
        "pure/judging.py",
        "2 * (shared := overlap(wanted, span)) >= min(wanted.end - wanted.start, span.end - span.start)",
        "(shared := overlap(wanted, span)) >= 0",
        (JUDGING,),
    ),
    Fault(
        "golden: cases compared that were worded anew",
        "pure/comparing.py",
        "return case.wording, case.none, case.k",
        'return "", case.none, case.k',
        (COMPARING,),
    ),
    Fault(
        "golden: a lost case forgiven where no mean fell",
        "pure/comparing.py",
        " or (not self.tolerance.each and bool(self.slipped))",
        "",
        (COMPARING,),
    ),
    Fault(
        "reading: rows cut from a table without its columns",
        "pure/chunking.py",
        "filter(None, (names, source.header_at(start)))",
        "filter(None, (names,))",
        (CHUNKING,),
    ),
    Fault(
        "reading: sections of two parents packed together",
        "pure/merging.py",
        " or not _is_below(section, group[0].parent)",
        "",
        (CHUNKING,),
    ),
    Fault(
        "reading: an overlap where no running text was cut",
        "pure/chunking.py",
        "return piece.rank in RUNNING and not",
        "return not",
        (CHUNKING,),
    ),
    Fault(
        "reading: broken UTF-8 taken for Western text",
        "pure/decoding.py",
        "if UTF8_SEQUENCE.search(data) or",
        "if",
        (DECODING,),
    ),
    Fault(
        "reading: a heading in a list taken for one of the document",
        "pure/blocks.py",
        'token.type == "heading_open" and token.level == 0',
        'token.type == "heading_open"',
        (MODEL,),
    ),
    Fault(
        "reading: broken front matter read as Markdown",
        "pure/frontmatter.py",
        "        if not _begins_with_key(inner, KEY_LINES[opener[1]]):\n",
        "        if inner:\n",
        (MODEL,),
    ),
    Fault(
        "reading: what was left out not in the coverage list",
        "pure/coverage.py",
        "for each in (*look.excluded, *asked)),",
        "for each in asked),",
        (COVERAGE,),
    ),
    Fault(
        "coverage: what a rule leaves out named to whoever asks",
        "pure/coverage.py",
        "(each for each in missed if each.lack is not Lack.EXCLUDED or each.why.endswith(NOT_MARKDOWN))",
        "iter(missed)",
        (COVERAGE,),
    ),
    Fault(
        "citing: what stands elsewhere in the file said to hold",
        "pure/citing.py",
        "inside = [place for place in found if _within(place, cited)]",
        "inside = found",
        (CITING,),
    ),
    Fault(
        "citing: a text looked for only where it was",
        "pure/citing.py",
        "for first in range(1, len(starts) - count + 1):",
        "for first in range(cited.first, min(cited.first + 1, len(starts) - count + 1)):",
        (CITING,),
    ),
    Fault(
        "doctor: a file that should have another hash passed",
        "pure/doctor.py",
        "if file.expected and file.expected != file.found:",
        "if file.expected and not file.found:",
        (DOCTOR,),
    ),
    Fault(
        "doctor: a version compared as text",
        "pure/versions.py",
        "return next((a - b for a, b in zip_longest(one, other, fillvalue=0) if a != b), 0)",
        "return (str(one) > str(other)) - (str(one) < str(other))",
        (DOCTOR,),
    ),
    Fault(
        "keys: front matter that cannot be read and hides its file shown",
        "pure/markings.py",
        "if front.unread and (hiding",
        "if False and (hiding",
        (MARKINGS, HISTORY),
    ),
    Fault(
        "keys: a mention looked for in front matter that is closed alone",
        "pure/frontmatter.py",
        "return FrontMatter(unread=Unread(meant[1], ",
        "return FrontMatter() if True else FrontMatter(unread=Unread(meant[1], ",
        (MARKINGS, HISTORY),
    ),
    Fault(
        "keys: a file that asks to be left out held",
        "pure/planning.py",
        "belief, look = settled.belief, without_left_out(look, prepared)",
        "belief, look = settled.belief, look",
        (PLANNING, HISTORY),
    ),
    Fault(
        "keys: what is retired shown",
        "adapters/record/reader.py",
        "if not view.retired:",
        "if False:",
        (LIFECYCLE, HISTORY),
    ),
    Fault(
        "keys: words of what is retired taken out after the list was cut",
        "adapters/record/reader.py",
        "        where, values = self._in_view(view)\n        sql = (",
        "        where, values = self._in_view(View(view.doc_class, view.as_of, True))\n        sql = (",
        (LIFECYCLE,),
    ),
    Fault(
        "keys: vectors of what is retired taken for some that pass",
        "adapters/record/reader.py",
        "where, values = self._in_view(view, repeats=True)",
        "where, values = self._in_view(View(view.doc_class, view.as_of, True), repeats=True)",
        (LIFECYCLE,),
    ),
    Fault(
        "keys: a retired row marked as a current one is",
        "pure/manifest.py",
        "if lifecycle != CURRENT:",
        "if False:",
        (LIFECYCLE,),
    ),
    Fault(
        "keys: a retired snapshot that stands for a current one",
        "pure/snapshots.py",
        "        doc_class,\n        lifecycle,\n",
        '        doc_class,\n        "",\n',
        (LIFECYCLE,),
    ),
    Fault(
        "keys: a retired copy cited before one that holds",
        "pure/citations.py",
        "(-scores[row.rid], row.lifecycle, row.source, row.ordinal)",
        "(-scores[row.rid], row.source, row.ordinal)",
        (LIFECYCLE,),
    ),
    Fault(
        "keys: an entry that forgets that its file is retired",
        "pure/manifest.py",
        "        lifecycle=document.lifecycle,\n",
        "",
        (LIFECYCLE,),
    ),
    Fault(
        "doctor: a killed writer passed over",
        "pure/doctor.py",
        "elif store.note is not None:",
        "elif store.note is not None and store.set_aside:",
        (DOCTOR,),
    ),
)
