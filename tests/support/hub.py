"""A Hub on loopback: real HTTP, the download and upload protocol as far as `huggingface_hub` uses it.

Downloads: HEAD and GET of /owner/name/resolve/revision/file with ETag, X-Repo-Commit and X-Error-Code;
large files answer with a redirect to a second server of another origin (the "CDN") and carry
X-Linked-Etag and X-Linked-Size, as on the real Hub; ranges on both. Uploads: repository creation,
validation of the card, preupload, LFS batch with basic transfer, and the ndjson commit. Not spoken:
Xet storage, multipart LFS, branches other than main, pull requests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import struct
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "token-of-the-tests"
_LARGE = (".safetensors", ".png", ".bin")


@dataclass
class Repository:
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    head: str = ""
    private: bool = False
    gated: bool = False


class LocalHub:
    """Use as a context manager; `faults` make it misbehave."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.large: dict[str, bytes] = {}  # LFS objects by sha256
        self.requests: list[tuple[str, str, dict[str, str]]] = []  # method, path, headers
        self.served_instead: dict[str, bytes] = {}  # file name -> bytes that are sent in place of the right ones
        self.announced_size: dict[str, int] = {}  # file name -> size in answers to HEAD
        self.cuts: list[tuple[str, int]] = []  # "close" or "reset" a transfer of a large file after so many bytes
        self.opaque = False  # whether ETags are names without a meaning, as some mirrors send
        self.validation_errors: list[str] = []
        self._servers = [_server(_HubHandler, self), _server(_CdnHandler, self)]
        self.endpoint, self.cdn = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)

    def __enter__(self) -> LocalHub:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def commit(self, repo: str, files: dict[str, bytes], **flags: bool) -> str:
        """Make these the files of the repository's main branch; returns the commit."""
        repository = self.repositories.setdefault(repo, Repository())
        for name, value in flags.items():
            setattr(repository, name, value)
        content = b"".join(name.encode() + hashlib.sha256(data).digest() for name, data in sorted(files.items()))
        repository.head = hashlib.sha1(repository.head.encode() + content).hexdigest()
        repository.commits[repository.head] = dict(files)
        for name, data in files.items():
            if name.endswith(_LARGE):
                self.large[hashlib.sha256(data).hexdigest()] = data
        return repository.head

    def asked(self, method: str, ending: str) -> list[dict[str, str]]:
        """Headers of all requests of this method whose path ends like this."""
        return [headers for verb, path, headers in self.requests if verb == method and path.endswith(ending)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # clients may leave at any time
            super().handle_error(request, client_address)


def _server(handler: type[BaseHTTPRequestHandler], hub: LocalHub) -> ThreadingHTTPServer:
    server = _Server(("127.0.0.1", 0), handler)
    server.hub = hub  # type: ignore[attr-defined]
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> LocalHub:
        return self.server.hub  # type: ignore[attr-defined, no-any-return]

    def log_message(self, *_: Any) -> None:
        pass

    def note(self) -> str:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, {k.lower(): v for k, v in self.headers.items()}))
        return path

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reply_json(self, value: Any, status: int = 200) -> None:
        self.reply(status, json.dumps(value).encode(), Content_Type="application/json")

    def fail(self, status: int, code: str) -> None:
        self.reply(status, X_Error_Code=code, X_Error_Message=code)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def send_file(self, name: str, data: bytes, **headers: str) -> None:
        """The whole file or the range asked for; HEAD may lie about the size."""
        data = self.hub.served_instead.get(name, data) if self.command == "GET" else data
        size = len(data)
        if self.command == "HEAD":
            size = self.hub.announced_size.get(name, size)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked is None:
            self.reply(200, data, Content_Length=str(size), **headers)
            return
        start = int(asked[1])
        span = f"bytes {start}-{size - 1}/{size}"
        self.reply(206, data[start:], Content_Length=str(size - start), Content_Range=span, **headers)


class _CdnHandler(_Handler):
    """Content by sha256, without authentication, as a signed address would serve it."""

    def do_GET(self) -> None:
        name, _, sha256 = self.note().removeprefix("/").partition("/")
        if self.hub.cuts:
            self.cut(*self.hub.cuts.pop(0), self.hub.large[sha256])
            return
        self.send_file(name, self.hub.large[sha256], ETag=f'"{sha256}"')

    def cut(self, how: str, after: int, data: bytes) -> None:
        self.reply(200, data[:after], Content_Length=str(len(data)))
        self.close_connection = True
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def do_PUT(self) -> None:
        path, data = self.note(), self.body()
        oid = path.rpartition("/")[2]
        if hashlib.sha256(data).hexdigest() != oid:
            self.reply(400)
            return
        self.hub.large[oid] = data
        self.reply(200)


class _HubHandler(_Handler):
    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.note()
        model = re.fullmatch(r"/([^/]+/[^/]+)/resolve/(.+?)/([^/]+)", path)
        dataset = re.fullmatch(r"/(datasets/[^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if found := dataset or model:
            self.resolve(*found.groups())
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            self.info(found[1], found[2] or "main")
        else:
            self.reply(404)

    def find(self, repo: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """The commit and its files, or an answer that says why not."""
        repository = self.hub.repositories.get(repo)
        authorised = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if repository is None or (repository.private and not authorised):
            self.fail(404 if authorised else 401, "RepoNotFound")
        elif repository.gated and not authorised:
            self.fail(401, "GatedRepo")
        else:
            commit = repository.head if revision == "main" else revision
            if commit in repository.commits:
                return commit, repository.commits[commit]
            self.fail(404, "RevisionNotFound")
        return None

    def resolve(self, repo: str, revision: str, name: str) -> None:
        found = self.find(repo, revision)
        if found is None:
            return
        commit, files = found
        if name not in files:
            self.reply(404, X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
            return
        data = files[name]
        sha256 = hashlib.sha256(data).hexdigest()
        if name.endswith(_LARGE):
            self.reply(
                302,
                Location=f"{self.hub.cdn}/{name}/{sha256}",
                X_Repo_Commit=commit,
                X_Linked_Etag=f'"{self.etag(sha256)}"',
                X_Linked_Size=str(self.hub.announced_size.get(name, len(data))),
            )
            return
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        self.send_file(name, data, ETag=f'"{self.etag(blob)}"', X_Repo_Commit=commit)

    def etag(self, content_id: str) -> str:
        return f"v-{content_id[:8]}" if self.hub.opaque else content_id

    def info(self, repo: str, revision: str) -> None:
        found = self.find(repo, revision)
        if found is not None:
            commit, files = found
            private = self.hub.repositories[repo].private
            siblings = [{"rfilename": name} for name in files]
            self.reply_json({"id": repo, "sha": commit, "private": private, "siblings": siblings})

    def do_POST(self) -> None:
        path, data = self.note(), self.body()
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.fail(401, "Unauthorized")
        elif path == "/api/validate-yaml":
            errors = [{"message": text} for text in self.hub.validation_errors]
            self.reply_json({"errors": errors, "warnings": []}, status=400 if errors else 200)
        elif path == "/api/repos/create":
            self.create(json.loads(data))
        elif found := re.fullmatch(r"/api/models/(.+)/preupload/main", path):
            self.reply_json({"files": [_upload_mode(file["path"]) for file in json.loads(data)["files"]]})
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/commit/main", path):
            self.receive_commit(found[1], data)
        elif path.endswith(".git/info/lfs/objects/batch"):
            self.reply_json({"transfer": "basic", "objects": [self.lfs(item) for item in json.loads(data)["objects"]]})
        else:
            self.reply(404)

    def create(self, asked: dict[str, Any]) -> None:
        repo = f"{asked['organization']}/{asked['name']}"
        existed = repo in self.hub.repositories
        if not existed:
            self.hub.repositories[repo] = Repository(private=asked.get("visibility") == "private")
            self.hub.commit(repo, {".gitattributes": b""})
        self.reply_json({"url": f"{self.hub.endpoint}/{repo}"}, status=409 if existed else 200)

    def lfs(self, item: dict[str, Any]) -> dict[str, Any]:
        upload = {"href": f"{self.hub.cdn}/upload/{item['oid']}"}
        return {"oid": item["oid"], "size": item["size"], "actions": {"upload": upload}}

    def receive_commit(self, repo: str, data: bytes) -> None:
        files = dict(self.hub.repositories[repo].commits[self.hub.repositories[repo].head])
        for line in data.splitlines():
            item = json.loads(line)
            if item["key"] == "file":
                files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            elif item["key"] == "lfsFile":
                files[item["value"]["path"]] = self.hub.large[item["value"]["oid"]]
        commit = self.hub.commit(repo, files)
        self.reply_json({"commitUrl": f"{self.hub.endpoint}/{repo}/commit/{commit}", "commitOid": commit})


def _upload_mode(path: str) -> dict[str, Any]:
    return {"path": path, "uploadMode": "lfs" if path.endswith(_LARGE) else "regular", "shouldIgnore": False}
