"""The dialect of OpenAI's embeddings, which many services and local servers speak.

    POST {base}/embeddings   {model, input: [text], encoding_format: "float", dimensions?}
                             ->  {data: [{index, embedding: [number]}]}

It does not tell the state of a model; two that share a name are told apart by what they make of one text.
"""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from rag_mcp.adapters.embedders.calls import Caller, Patience, Refusal
from rag_mcp.effects.ports import EmbedderFault
from rag_mcp.pure.services import KEY, Service
from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class OpenAI(Shown):
    """One model of one service."""

    service: Service
    caller: Caller

    def digest(self, patience: Patience) -> str:
        """Nothing: the service does not tell, and is not asked."""
        del patience
        return ""

    def vectors(self, texts: Sequence[str], patience: Patience) -> Sequence[Sequence[Any]]:
        """One list of numbers for each text, by the place that each names."""
        body: dict[str, Any] = {"model": self.service.model, "input": list(texts), "encoding_format": "float"}
        if self.service.dim:
            body["dimensions"] = self.service.dim
        try:
            answer = self.caller.post("/embeddings", body, patience)
        except Refusal as refusal:
            raise self._explained(refusal) from None
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list):
            raise EmbedderFault(f"{self.service.url} answered without data; does its address end as in .../v1?")
        found = [_vector(item, place) for place, item in enumerate(data)]
        places = [place for place, _ in found]
        if sorted(places) != list(range(len(found))) or not all(isinstance(vector, list) for _, vector in found):
            raise EmbedderFault(f"{self.service.url} returned vectors that name no place, or one place twice")
        return [vector for _, vector in sorted(found, key=lambda pair: pair[0])]

    def _explained(self, refusal: Refusal) -> EmbedderFault:
        match refusal.status:
            case 401 | 403:
                names = " or ".join(dict.fromkeys((self.service.key_variable, KEY)))
                return EmbedderFault(f"{refusal}; check the key in {names}")
            case 404:
                return EmbedderFault(f"{refusal}; check the address and the model's name, {self.service.model}")
            case _:
                return refusal


def _vector(item: Any, place: int) -> tuple[int, Any]:
    """The place that an item names, its own where it names none, and what it holds."""
    if not isinstance(item, dict):
        return -1, None
    named = item.get("index", place)
    return (named if isinstance(named, int) else -1), item.get("embedding")
