"""Vector indexes: Chroma in immutable generations, and the exact scan.

    ports.VectorIndex   chroma.ChromaIndex
    ports.Exact         exact.ExactScan

`generation_files`, `generation_check`, `hnsw_graph` and `generations` know the disk and no vendor; `chroma_client`
alone imports chromadb. The files are private formats of the pinned version: tests/contracts/test_vector_index.py
decides about any other.
"""
