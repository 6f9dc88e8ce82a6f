"""What to do about a failure: the next step as a sentence, and whether the same call may succeed by itself."""

from rag_mcp.pure import errors
from rag_mcp.pure.classify import ALLOWED_DOC_CLASSES
from rag_mcp.pure.limits import MAX_K, MAX_QUERY


def next_step(failure: errors.Failure) -> str:
    """One sentence, with the setting or the command where there is one."""
    match failure:
        case errors.InvalidQuery():
            return f"Send a question or keywords, 1 to {MAX_QUERY} characters; k may be 1 to {MAX_K}."
        case errors.InvalidDocClass():
            return f"Use {' or '.join(ALLOWED_DOC_CLASSES)}, or leave doc_class out."
        case errors.ConfigError():
            return "Set what the message names in the environment of this server, and start it again."
        case errors.StoreMissing(store):
            return (
                f"Check RAG_MCP_DB_PATH, or make the store: rag-mcp ingest CORPUS --db {store}; then repeat the call."
            )
        case errors.EmptyStore(store):
            return f"Run: rag-mcp ingest CORPUS --db {store}; then repeat the call."
        case errors.EmbedderMismatch(stored, _, given, _) if stored == given:
            return f"Rebuild the index: rag-mcp ingest CORPUS --embedder {given}."
        case errors.EmbedderMismatch(stored, _, given, _):
            return f"Set RAG_MCP_EMBEDDER={stored}, or rebuild the index: rag-mcp ingest CORPUS --embedder {given}."
        case errors.StoreUnreachable(store, _):
            return f"Repeat the call; if it fails again, run: rag-mcp verify --db {store}"
        case errors.WarmingUp():
            return "Repeat the same call in a few seconds."
        case errors.SourceUnavailable():
            return "Use a source that a search returned."
        case errors.PathChanged():
            return "Tell the user; after the next ingest the document can be read, or is left out."
        case errors.InvalidArgument():
            return "Send the arguments again within the limits that the message names."
        case _:
            return "Mend what the message names, then repeat the call; the server need not be started again."


def retryable(failure: errors.Failure) -> bool:
    """True where nothing needs to be mended before the same call may succeed."""
    return isinstance(failure, errors.StoreUnreachable | errors.WarmingUp | errors.WriterBusy)
