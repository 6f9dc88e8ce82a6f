"""Vector indexes: Chroma in immutable generations, its stand-in in memory, and the exact scan.

    ports.VectorIndex   chroma.ChromaIndex, memory.MemoryIndex
    ports.Exact         exact.ExactScan

`generation_files`, `generation_check`, `hnsw_graph` and `generations` know the disk and no vendor;
`chroma_client` alone imports chromadb.
"""
