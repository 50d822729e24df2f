"""A verb of sessions as a client sees it: what is said with it, in which types, and how it is answered."""

from dataclasses import dataclass

from pydantic import BaseModel

from app.api.openapi_parts import JSON
from app.api.schemas.session_steps import VerbRequest
from app.domain.documents import NPY

NPZ = "application/x-npz"
SAFETENSORS = "application/vnd.safetensors"

TENSORS = (NPZ, SAFETENSORS, NPY)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb.

    Attributes:
        name: as it stands in the URL.
        operation: what the operation is called, a verb and a noun.
        says: one sentence of what it does.
        shape: of the JSON that a client sends; the query, too, where the body is arrays.
        answer: the shape of the JSON that comes back.
        bodies: types of a body of arrays, which stand for the field `shape.carried`.
        answers: the types that an answer can have, the usual one first.
        status: of an answer.
    """

    name: str
    operation: str
    says: str
    shape: type[VerbRequest]
    answer: type[BaseModel]
    bodies: tuple[str, ...] = ()
    answers: tuple[str, ...] = (JSON,)
    status: int = 200
