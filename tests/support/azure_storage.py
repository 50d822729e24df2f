"""A double of the Blob service of Azure Storage, as far as obstore asks, with keys of the account and signed URLs."""

import base64
import email
import hashlib
import hmac
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from tests.support.cloud_storage import CloudStorage, Refused, Request, Response

ACCOUNT = "adjointtests"
KEY = base64.b64encode(b"a secret key of the tests, of no service").decode()
CREDENTIALS = {"AZURE_STORAGE_ACCOUNT_KEY": KEY}

_SIGNED_HEADERS = (
    "content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range",
)  # fmt: skip
_SIGNED_PARAMETERS = ("sip", "spr", "sv", "sr", "snapshot", "ses", "rscc", "rscd", "rsce", "rscl", "rsct")
_BLOCK = re.compile(rb"<(?:Uncommitted|Latest)>([^<]+)<")


class AzureStorage(CloudStorage):
    """Answers requests that are signed with KEY of ACCOUNT."""

    no_bucket, no_object = "ContainerNotFound", "BlobNotFound"
    folder = f"/{ACCOUNT}"

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[str, dict[str, bytes]] = {}

    def answer(self, request: Request) -> Response:
        self._authenticate(request)
        key, query = self.key_of(request), request.query
        match request.method, query.get("comp"):
            case "GET", "list":
                return self._list(query)
            case "GET" | "HEAD", None:
                return self.read(request, key)
            case "POST", "batch":
                return self._delete_all(request)
            case "PUT", "block":
                self._blocks.setdefault(key, {})[query["blockid"]] = request.body
                return Response(201)
            case "PUT", "blocklist":
                return self._commit(key, [name.decode() for name in _BLOCK.findall(request.body)])
            case "PUT", None:
                if request.headers.get("x-ms-blob-type") != "BlockBlob":
                    raise Refused(400, "InvalidHeaderValue")
                if request.headers.get("if-none-match") == "*" and key in self.objects:
                    raise Refused(409, "BlobAlreadyExists")
                return Response(201, headers=self.write(key, request.body).headers)
            case "DELETE", None:
                self.delete(key)
                return Response(202)
        raise Refused(400, "InvalidQueryParameterValue")

    def _authenticate(self, request: Request) -> None:
        if "sig" in request.query:
            expected, given = _url_signature(request), request.query["sig"]
            expires = datetime.fromisoformat(request.query["se"])
            if request.method not in ("GET", "HEAD") or expires < datetime.now(UTC):
                raise Refused(403, "AuthenticationFailed")
        else:
            expected, given = f"SharedKey {ACCOUNT}:{_signature(request)}", request.headers.get("authorization", "")
        if not hmac.compare_digest(expected, given):
            raise Refused(403, "AuthenticationFailed")

    def _commit(self, key: str, names: list[str]) -> Response:
        blocks = self._blocks.pop(key, {})
        if not blocks.keys() >= set(names):
            raise Refused(400, "InvalidBlockList")
        return Response(201, headers=self.write(key, b"".join(blocks[name] for name in names)).headers)

    def _delete_all(self, request: Request) -> Response:
        answers = []
        for number, part in enumerate(_requests_in(request)):
            try:
                answer = self.answer(part)
            except Refused as refused:
                answer = refused.response
            answers.append(
                f"--answers\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
                f"HTTP/1.1 {answer.status} Answer\r\n\r\n{answer.body.decode()}\r\n"
            )
        body = "".join((*answers, "--answers--\r\n")).encode()
        return Response(202, body, {"Content-Type": "multipart/mixed; boundary=answers"})

    def _list(self, query: dict[str, str]) -> Response:
        entries, following = self.page(query.get("prefix", ""), query.get("marker", ""))
        blobs = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties>"
            f"<Last-Modified>{stored.headers['Last-Modified']}</Last-Modified>"
            f"<Content-Length>{len(stored.content)}</Content-Length><Content-Type>application/octet-stream</Content-Type>"
            f"<Etag>{escape(stored.headers['ETag'])}</Etag></Properties></Blob>"
            for key, stored in entries
        )
        content = f"<Blobs>{blobs}</Blobs><NextMarker>{escape(following)}</NextMarker>"
        return Response(
            200, f"<?xml version='1.0' encoding='utf-8'?><EnumerationResults>{content}</EnumerationResults>".encode()
        )


def _requests_in(batch: Request) -> Iterator[Request]:
    """Yield the requests that a batch is made of."""
    head = f"Content-Type: {batch.headers['content-type']}\r\n\r\n".encode()
    for part in email.message_from_bytes(head + batch.body).get_payload():
        assert isinstance(part, email.message.Message)
        line, _, rest = str(part.get_payload()).lstrip().partition("\n")
        method, target, _ = line.split()
        headers = email.message_from_string(rest)
        yield Request(method, target, {name.lower(): str(value) for name, value in headers.items()})


def _sign(text: str) -> str:
    return base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()


def _signature(request: Request) -> str:
    """Return the signature of a request with the key of the account (`SharedKey`)."""
    headers = request.headers
    lines = [headers.get(name, "") for name in _SIGNED_HEADERS]
    lines[2] = "" if lines[2] == "0" else lines[2]
    own = [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")]
    resource = f"/{ACCOUNT}{request.target.partition('?')[0]}"
    parameters = [f"{name.lower()}:{value}" for name, value in sorted(request.query.items())]
    return _sign("\n".join((request.method, *lines, *own, resource, *parameters)))


def _url_signature(request: Request) -> str:
    """Return the signature of a URL that reads a blob (service SAS)."""
    query = request.query
    start = [query.get(name, "") for name in ("sp", "st", "se")]
    rest = [query.get(name, "") for name in _SIGNED_PARAMETERS]
    return _sign("\n".join((*start, f"/blob{request.path}", query.get("si", ""), *rest)))
