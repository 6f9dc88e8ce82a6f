"""Decides. No clock, disk, network, environment, randomness or logging; the same input gives the same output.

Nouns
    values        what was seen, what was read, what was cut
    paths         which paths are inside, and how they are shown
    identity      what an index was made by; what must be redone when that changes
    errors        every expected failure, a closed union
    exits         exit codes
    vectors       checks and names of vectors
    view          which rows a search sees
    tail          what an index lacks of the present; when it is told, and when the index is made anew
    wishes        what is asked of a run, over what was chosen for the store before
    tokens        how many a text has, where no tokenizer is at hand
    metrics       measures of a ranking, and of the characters it covers
    manifest      what the record believes of a file, and the evidence for it
    health        what was found out about an installation
    versions      whether a version is one that a requirement allows
    revisions     the commit that a corpus is at
    plans         the plan: one decision and one reason for every path
    dates         calendar dates in names and headings

From bytes to chunks
    ignore        what is left out of a corpus, and by which rule
    decoding      bytes to text, by what is certain, declared or likely
    frontmatter   metadata in front of a text
    blocks        CommonMark blocks with their places in the source
    pieces        text taken apart until every piece fits
    boundaries    where a sequence of pieces is cut, by the text around the cut
    merging       small neighbouring sections packed together
    crumbs        the heading names in front of a passage
    chunking      blocks into passages under a token budget
    classify      note or hand-over
    markings      what a file asks of the index itself: to be left out, retired, cut by headings
    signals       marks and orders in a passage that try to be more than data
    documents     the above, in order: bytes in, Document out
    services      embedders over HTTP: names, addresses, keys, what their models want

Decisions
    recovery      reasons to distrust; what falls through is trusted
    pruning       proof that a file is gone, and how many may go in one run
    planning      look + belief + identity -> plan
    snapshots     dated series: which passages repeat the day before, what was said on a date
    regrouping    what a plan changes in what repeats what
    changes       how the text under a heading changed over a series
    query         what a caller sent -> a question in bounds, or why not
    words         what a passage is filed under, what a question looks for
    fusion        the list by meaning and the list by words become one
    stages        the search policy: which list next, how deep
    coverage      what is not wholly searchable, and why
    copies        when two passages say the same
    citations     rows and scores -> hits, one for all that say the same
    citing        whether a citation still holds
    corpus        what the corpus profile asks and tells: strict bounds, documents as files, the stamp of an index
    confidence    whether the corpus holds what was asked

Measuring answers
    golden        questions with known answers, and where in a text an answer stands
    judging       passages that came back -> what they are worth
    comparing     what moved between two runs, and whether that is worse

For people and programs
    findings      what a check found, and what mends it
    doctor        facts about an installation, judged
    summary       what a run did
    statistics    what a store holds
    render        plans and reports as lines of text
    answer_render answers as lines of text
    check_render  findings, citations, what a store holds as lines of text
    wire          the shapes that programs read
    advice        what to do about a failure
    reply         what the server's tool answers, within its budget
    corpus_reply  what the tools of the corpus profile answer
    profiles      which tools a server shows
    cutover       the renames that exchange two stores, and what a kill between them leaves to do
    schedules     an ingest every so often, in the words of systemd, cron and Task Scheduler
    watching      when a watched folder is looked at again, and what is told of it
    codec         JSON both ways, strict
    golden_codec  golden cases and baselines, from plain data and back
    golden_render golden cases as lines of text
    registration  a server's entry in a client's file
"""
