"""Ollama's own dialect.

    POST /api/embed   {model, input: [text], truncate: false, keep_alive}  ->  {embeddings: [[number]]}
    GET  /api/tags    {models: [{name, digest}]}                           what is pulled, and in which state

A text that is too long is cut silently unless it is told not to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from rag_mcp.adapters.embedders.calls import Caller, Patience, Refusal, Unreachable
from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.pure.services import Service
from rag_mcp.pure.shown import Shown

KEEP_ALIVE = "15m"
"""How long the model stays loaded: the next question should not wait for it."""


@frozen(repr=False)
class Ollama(Shown):
    """One model of one Ollama."""

    service: Service
    caller: Caller

    def digest(self, patience: Patience) -> str:
        """The digest of the model's manifest, which changes with weights, template and parameters."""
        wanted = {self.service.model, f"{self.service.model}:latest"}
        try:
            answer = self.caller.get("/api/tags", patience)
        except Unreachable as fault:
            raise self._away(fault) from None
        for model in _models(answer):
            if wanted & {model.get("name"), model.get("model")}:
                digest = model.get("digest")
                return digest if isinstance(digest, str) else ""
        raise self._absent()

    def vectors(self, texts: Sequence[str], patience: Patience) -> Sequence[Sequence[Any]]:
        """One list of numbers for each text."""
        body: dict[str, Any] = {"model": self.service.model, "input": list(texts)}
        body |= {"truncate": False, "keep_alive": KEEP_ALIVE}
        if self.service.dim:
            body["dimensions"] = self.service.dim
        try:
            answer = self.caller.post("/api/embed", body, patience)
        except Unreachable as fault:
            raise self._away(fault) from None
        except Refusal as refusal:
            raise (self._absent() if refusal.status == 404 else refusal) from None
        found = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(found, list) or not all(isinstance(vector, list) for vector in found):
            raise EmbedderFault(f"{self.service.url} answered without embeddings; is it an Ollama?")
        return found

    def _absent(self) -> EmbedderFault:
        name = self.service.model
        return EmbedderFault(f"the Ollama at {self.service.url} has no model {name}; get it with: ollama pull {name}")

    def _away(self, fault: Unreachable) -> Unreachable:
        return Unreachable(f"Ollama: {fault}; start it (ollama serve) and try again, or set OLLAMA_HOST")


def _models(answer: Any) -> Iterator[Mapping[str, Any]]:
    models = answer.get("models") if isinstance(answer, dict) else None
    yield from (model for model in models or () if isinstance(model, dict))
