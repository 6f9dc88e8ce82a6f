"""Acts: carries the core's decisions out through ports. No vendor, no decision of its own.

ports, record   what the shell needs of the world, as protocols
ingest          look, believe, plan; stop there (preview) or apply
prepare, embed  read and cut what is in doubt; make the vectors that are missing
apply           segments: cache, transaction, index, commit, sweep; the write order stands there
retrieve        a search: embed the question, ask, recheck, cite; desk is what it needs, timing what it took
verify          checks, and the repair that needs no embedding
boundary        exceptions of the world as failure values
"""
