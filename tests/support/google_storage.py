"""A double of the XML API of Google Cloud Storage, as far as obstore asks."""

import hmac
import re
from xml.sax.saxutils import escape

from tests.support.cloud_storage import CloudStorage, Refused, Request, Response

TOKEN = "a-token-of-tests"
CREDENTIALS = {"GOOGLE_BEARER_TOKEN": TOKEN}
PART_BYTES_MIN = 5 * 1024 * 1024
"""The smallest part of an upload but the last one."""

_PART = re.compile(rb"<PartNumber>(\d+)</PartNumber>")


class GoogleStorage(CloudStorage):
    """Answers requests with the bearer token TOKEN."""

    no_bucket, no_object = "NoSuchBucket", "NoSuchKey"

    def __init__(self) -> None:
        super().__init__()
        self._uploads: dict[str, dict[int, bytes]] = {}

    def answer(self, request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("authorization", ""), f"Bearer {TOKEN}"):
            raise Refused(401, "AuthenticationRequired")
        key, query = self.key_of(request), request.query
        if "uploads" in query or "uploadId" in query:
            return self._upload(request, key)
        match request.method:
            case "GET" if not key and query.get("list-type") == "2":
                return self._list(query)
            case "GET" | "HEAD":
                return self.read(request, key)
            case "PUT":
                if request.headers.get("x-goog-if-generation-match") == "0" and key in self.objects:
                    raise Refused(412, "PreconditionFailed")
                return Response(200, headers=self.write(key, request.body).headers)
            case "DELETE":
                self.delete(key)
                return Response(204)
        raise Refused(400, "InvalidArgument")

    def _upload(self, request: Request, key: str) -> Response:
        """Answer a request of an upload in parts."""
        query = request.query
        match request.method:
            case "POST" if "uploads" in query:
                upload = self.new_id()
                self._uploads[upload] = {}
                return Response(200, _xml("InitiateMultipartUploadResult", f"<UploadId>{upload}</UploadId>"))
            case "PUT":
                number = int(query["partNumber"])
                self._parts(query)[number] = request.body
                return Response(200, headers={"ETag": f'"{number}"'})
            case "POST":
                return self._complete(key, query, request.body)
            case "DELETE":
                self._parts(query)
                del self._uploads[query["uploadId"]]
                return Response(204)
        raise Refused(400, "InvalidArgument")

    def _parts(self, query: dict[str, str]) -> dict[int, bytes]:
        parts = self._uploads.get(query["uploadId"])
        if parts is None:
            raise Refused(404, "NoSuchUpload")
        return parts

    def _complete(self, key: str, query: dict[str, str], body: bytes) -> Response:
        parts = self._parts(query)
        numbers = [int(number) for number in _PART.findall(body)]
        if numbers != sorted(parts):
            raise Refused(400, "InvalidPart")
        if any(len(parts[number]) < PART_BYTES_MIN for number in numbers[:-1]):
            raise Refused(400, "EntityTooSmall")
        del self._uploads[query["uploadId"]]
        stored = self.write(key, b"".join(parts[number] for number in numbers))
        return Response(200, _xml("CompleteMultipartUploadResult", f"<ETag>{escape(stored.headers['ETag'])}</ETag>"))

    def _list(self, query: dict[str, str]) -> Response:
        entries, following = self.page(query.get("prefix", ""), query.get("continuation-token", ""))
        content = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(stored.content)}</Size>"
            f"<LastModified>{stored.written_at:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            f"<ETag>{escape(stored.headers['ETag'])}</ETag></Contents>"
            for key, stored in entries
        )
        more = f"<NextContinuationToken>{escape(following)}</NextContinuationToken>" if following else ""
        return Response(200, _xml("ListBucketResult", content + more))


def _xml(name: str, content: str) -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?><{name}>{content}</{name}>".encode()
