"""The app on a public host: whoever speaks to the server directly gets no file, no internals and no one else's page."""

from __future__ import annotations

import base64
import io
import json
import sys
import zlib
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from gradio_client import Client
from PIL import Image

import tests.support.models as models
from tools import make_space
from tools.queue_client import API, Answer, QueueClient, QueueError
from tools.space_run import RunningApp, run_app

pytestmark = pytest.mark.slow

LARGEST_UPLOAD = 50 * 1024**2
NAMED = {"traverse", "budget_curve", "contributions", "evaluate"}  # endpoints for programs
FILE = {"meta": {"_type": "gradio.FileData"}}
NONSENSE: tuple[Any, ...] = (
    None, True, -1, 1e308, "x", "<script>alert(1)</script>", "x" * 10_000, [], [[[]]], {}, {"a": [1]},
    {"path": "/etc/passwd"}, {"path": "/etc/passwd", **FILE}, {"path": "app.py", **FILE},
    {"plan": "all", "add": 3}, {"plan": [0, 0, -7], "add": {"parent": 1e9, "index": "2"}}, {"example": "1"},
    {"example": 10**30}, {"example": -1},
)  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """The app from a folder of its own, started as a public host starts it."""
    folder, home = tmp_path_factory.mktemp("app"), tmp_path_factory.mktemp("home")
    make_space.assemble(folder)
    with run_app(folder, Path(sys.executable), home) as started:
        yield started


@pytest.fixture
def visitor(app: RunningApp) -> Iterator[QueueClient]:
    client = QueueClient(app.address)
    yield client
    client.close()


def fetch(app: RunningApp, path: str, **parameters: Any) -> httpx.Response:
    """One answer, over a connection of its own: after an error the server closes it."""
    with httpx.Client(base_url=app.address, trust_env=False, timeout=60) as http:
        return http.get(path, **parameters)


def picture(seed: int, kind: str = "PNG") -> bytes:
    written = io.BytesIO()
    Image.fromarray(models.picture(240, 320, seed=seed)).save(written, kind)
    return written.getvalue()


def upload_picture(visitor: QueueClient, name: str, content: bytes) -> Answer:
    """The answer to an uploaded file."""
    button = visitor.component("explore-upload")
    visitor.values[button] = visitor.upload(name, content)
    return visitor.happens("upload", button)[0]


def texts(answer: Answer) -> str:
    return " ".join(value for value in answer.outputs.values() if isinstance(value, str))


def scene(answer: Answer) -> dict[str, Any]:
    """The traversal that was sent to the stage."""
    found = [value for value in answer.outputs.values() if isinstance(value, str) and value.startswith('{"kind"')]
    return json.loads(found[0])


def internals(text: str) -> list[str]:
    """What tells of the machine or the code."""
    return [word for word in ("Traceback", "site-packages", 'File "', "tnet_core", str(Path.cwd())) if word in text]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "/proc/self/environ", "app.py", "./app.py", "../app/app.py", "checkpoints.yaml",
        "checkpoints/tnet-lite0-cub/model.safetensors", ".gitattributes", "file:///etc/passwd",
        "//127.0.0.1/etc/passwd", "http://127.0.0.1:9/", "http://169.254.169.254/latest/meta-data/", sys.executable,
    ],
)  # fmt: skip
def test_no_file_is_served_that_was_not_uploaded(app: RunningApp, path: str) -> None:
    for written in (path, quote(path, safe="")):
        for address in (f"{API}/file={written}", f"{API}/file/{written}"):
            answer = fetch(app, address)
            assert answer.status_code in (403, 404), address
            assert len(answer.content) < 1000


@pytest.mark.parametrize("path", ["..%2f..%2fapp.py", "%2e%2e/%2e%2e/app.py", "%2fetc%2fpasswd"])
def test_folders_of_the_page_do_not_lead_elsewhere(app: RunningApp, path: str) -> None:
    for root in ("/static/", "/assets/", "/svelte/"):
        assert fetch(app, f"{root}{path}").status_code in (403, 404)


def test_what_the_host_does_not_need_is_off(app: RunningApp) -> None:
    off = ("/monitoring", "/monitoring/summary", "/docs")
    off += tuple(f"{API}/{name}" for name in ("runs", "vibe-code", "mcp/sse", "proxy=https://example.com/"))
    for path in off:
        assert fetch(app, path).status_code in (400, 403, 404), path


def test_errors_are_not_shown_and_uploads_are_limited(visitor: QueueClient) -> None:
    config = visitor.config
    assert config["show_error"] is False and config["dev_mode"] is False and config["vibe_mode"] is False
    assert config["max_file_size"] == LARGEST_UPLOAD
    assert config["analytics_enabled"] is False


def test_only_the_named_endpoints_are_offered_as_an_interface(app: RunningApp, visitor: QueueClient) -> None:
    assert visitor.functions("*")
    assert {function["api_visibility"] for function in visitor.functions("*")} == {"private"}
    public = {function["api_name"] for function in every_function(visitor) if function["api_visibility"] == "public"}
    assert public == NAMED
    for every in ("", "?all_endpoints=true"):
        offered = fetch(app, f"{API}/info{every}").json()
        assert set(offered["named_endpoints"]) == {f"/{name}" for name in NAMED}
        assert offered["unnamed_endpoints"] == {}


def test_a_function_of_the_page_is_refused_to_programs_that_call_it_by_name(app: RunningApp) -> None:
    program = Client(app.address, verbose=False, analytics_enabled=False, httpx_kwargs={"trust_env": False})
    private = [f for f in program.config["dependencies"] if f["api_visibility"] == "private"]
    assert private
    for function in private:
        with pytest.raises(ValueError, match="Cannot find a function"):
            program.predict(api_name=f"/{function['api_name']}")
        with pytest.raises(ValueError, match="Invalid function index"):
            program.predict(fn_index=function["id"])
    program.close()


def every_function(visitor: QueueClient) -> list[dict[str, Any]]:
    """Those of the page and the named endpoints."""
    return [function for function in visitor.config["dependencies"] if function["backend_fn"]]


def test_an_upload_above_the_limit_is_refused_and_leaves_nothing(app: RunningApp, visitor: QueueClient) -> None:
    before = large_files(app)
    with pytest.raises(QueueError, match=r"^413: "):
        visitor.upload("large.png", b"\0" * (LARGEST_UPLOAD + 200_000))
    assert large_files(app) == before


def large_files(app: RunningApp) -> set[Path]:
    """Where the app may write: its home and temporary folder."""
    return {path for path in app.log.parent.rglob("*") if path.is_file() and path.stat().st_size > 10**6}


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.long)])
def test_nonsense_gets_a_sentence_or_nothing_and_the_page_goes_on(
    app: RunningApp, visitor: QueueClient, share: int
) -> None:
    """Each function gets one value in `share`, others than the function before; with 1, every function gets all."""
    landed = scene(visitor.happens("load")[0])
    for number, function in enumerate(every_function(visitor)):
        for value in NONSENSE[number % share :: share]:
            said = answer_to(visitor, function, [value] * len(function["inputs"]), value)
            assert internals(said.replace(repr(value), "")) == [], (function["api_name"], value)
        for count in (0, len(function["inputs"]) + 3):
            assert internals(answer_to(visitor, function, ["x"] * count, None)) == [], function["api_name"]
    other = QueueClient(app.address)
    own = {"id": 0, "scene": 0, "request": 0}  # of each page
    assert scene(other.happens("load")[0]) | own == landed | own
    other.close()


def answer_to(visitor: QueueClient, function: dict[str, Any], data: list[Any], event: Any) -> str:
    """All text that comes back, from a session of its own."""
    stranger = QueueClient(visitor.address, config=visitor.config)
    try:
        return texts(stranger.call(function["id"], data, event_data=event))
    except QueueError as error:
        return str(error)
    finally:
        stranger.close()


def test_functions_that_do_not_exist_are_refused_without_internals(app: RunningApp, visitor: QueueClient) -> None:
    unknown = {"data": [], "fn_index": 9999, "session_hash": visitor.session}
    for body in (unknown, {}, {"data": "x"}, {**unknown, "fn_index": "x"}, {**unknown, "data": None}):
        with httpx.Client(base_url=app.address, trust_env=False) as http:
            answer = http.post(f"{API}/queue/join", json=body)
        assert answer.status_code >= 400 and internals(answer.text) == [], body


def test_only_an_uploaded_file_is_opened_as_a_picture(app: RunningApp, visitor: QueueClient) -> None:
    examples = next((app.log.parent.parent).rglob("examples/nuthatch.jpg"))
    assert visitor.functions("upload")
    for function in visitor.functions("upload"):
        for path in ("/etc/passwd", "examples/nuthatch.jpg", str(examples), "app.py"):
            data = [visitor.values[number] for number in function["inputs"][:-1]] + [{"path": path, **FILE}]
            said = answer_to(visitor, function, data, None)
            assert "kind" not in said and "data:image" not in said, path


def test_a_picture_made_to_exhaust_memory_is_refused_with_a_sentence(visitor: QueueClient) -> None:
    whole = io.BytesIO()
    Image.new("1", (1, 1)).save(whole, "PNG")
    start = whole.getvalue()
    header = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + start[24:29]
    bomb = start[:12] + header + zlib.crc32(header).to_bytes(4, "big") + start[33:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image, "MAX_IMAGE_PIXELS", None)
        assert Image.open(io.BytesIO(bomb)).size == (60_000, 60_000)
    said = texts(upload_picture(visitor, "bomb.png", bomb))
    assert "tn-problem" in said and "bomb.png" in said and '"kind"' not in said


def test_names_of_files_are_escaped_where_they_are_shown_as_html(visitor: QueueClient) -> None:
    said = texts(upload_picture(visitor, "<img src=x onerror=alert(1)>.png", b"no picture"))
    assert "tn-problem" in said and "<img src=x" not in said


def test_a_session_is_nobody_elses(app: RunningApp) -> None:
    mine, yours, fresh = (QueueClient(app.address) for _ in range(3))
    first, second = (
        scene(upload_picture(mine, "mine.png", picture(1))),
        scene(upload_picture(yours, "yours.png", picture(2))),
    )
    assert first["title"] == "mine.png" and second["title"] == "yours.png"
    assert first["projections"] != second["projections"]
    for client, own in ((mine, first), (yours, second)):
        [steered] = client.happens("steer", data={"plan": [1, 0]})
        assert scene(steered)["kind"] == "steer" and scene(steered)["plan"] == [1, 0]
        [again] = client.happens("steer", data={"plan": [], "add": {"parent": None, "index": 0}})
        assert scene(again)["kind"] == "steer" and own["title"] not in str(again)
    [lost] = fresh.happens("steer", data={"plan": [0]})
    said = scene(lost)
    assert said == {"kind": "expired", "sentence": said["sentence"], "id": None, "attempt": None}
    for client in (mine, yours, fresh):
        client.close()


def test_no_folder_of_the_server_can_be_named(app: RunningApp, visitor: QueueClient) -> None:
    assert "your-data-folder" not in {part["props"].get("elem_id") for part in visitor.components.values()}
    [start] = visitor.functions("click", visitor.component("your-data-start"))
    values = [visitor.values[number] for number in start["inputs"]]
    folder = str(next((app.log.parent.parent).rglob("examples")))
    for extra in ([], [folder], [folder, folder]):
        assert "Choose a zip of class folders first." in answer_to(visitor, start, values + extra, None)


def test_no_file_of_the_server_can_be_named(visitor: QueueClient) -> None:
    assert "named" not in {part["props"].get("elem_id") for part in visitor.components.values()}
    assert [f["api_name"] for f in every_function(visitor) if "named" in str(f["api_name"])] == []


def test_pixels_are_given_only_to_the_page_that_shows_the_picture(app: RunningApp) -> None:
    mine, yours, fresh = (QueueClient(app.address) for _ in range(3))
    first, second = (
        scene(upload_picture(mine, "mine.png", picture(1))),
        scene(upload_picture(yours, "yours.png", picture(2))),
    )
    part = {"scene": first["scene"], "box": [10, 20, 110, 80], "id": 7}
    [given] = mine.happens("zoom", data=part)
    told = scene(given)
    assert (told["kind"], told["box"], told["id"]) == ("part", part["box"], 7)
    sent = Image.open(io.BytesIO(base64.b64decode(told["image"].partition(",")[2]))).convert("RGB")
    assert sent.tobytes() == models.picture(240, 320, seed=1)[20:80, 10:110].tobytes()
    for client, wrong in (
        (yours, part), (fresh, part), (mine, part | {"scene": second["scene"]}), (mine, part | {"box": [0, 0, 321, 5]}),
        (mine, part | {"box": [-5, 0, 5, 5]}), (mine, part | {"box": "all"}), (mine, {}),
    ):  # fmt: skip
        [refused] = client.happens("zoom", data=wrong)
        said = scene(refused)
        assert said["kind"] in ("problem", "expired") and "image" not in said and internals(said["sentence"]) == []
    for client in (mine, yours, fresh):
        client.close()


def test_pages_of_other_origins_may_not_read_an_app_of_this_machine(app: RunningApp) -> None:
    answer = fetch(app, "/config", headers={"Origin": "https://elsewhere.example"})
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/process_recording"), ("GET", "/deep_link?session_hash=x"), ("POST", "/component_server"),
        ("POST", "/run/on_load"), ("POST", "/api/on_load"), ("POST", "/call/on_load"), ("POST", "/call/v2/on_load"),
        ("GET", "/file=https://example.com/x.png"), ("GET", "/file=http://example.com/"),
        ("GET", "/proxy=https://x.hf.space/"), ("POST", "/stream/x"), ("GET", "/custom_component/x/client/y/z"),
        ("GET", "/dev/reload"), ("GET", "/openapi.json"), ("POST", "/vibe-edit"), ("DELETE", "/upload"),
        ("PUT", "/queue/join"),
    ],
)  # fmt: skip
def test_what_the_page_does_not_use_is_not_there(app: RunningApp, method: str, path: str) -> None:
    with httpx.Client(base_url=app.address, trust_env=False) as http:
        body = {} if method == "GET" else {"json": {"data": [], "session_hash": "x", "fn_index": 0}}
        answer = http.request(method, f"{API}{path}", **body)
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is nothing here."})


def test_the_server_fetches_no_address_for_anybody(visitor: QueueClient) -> None:
    for function in every_function(visitor):
        for address in ("https://example.com/x.png", "http://127.0.0.1:9/x.png", "//example.com/x", "ftp://x/y"):
            data = [{"path": address, **FILE}] * max(1, len(function["inputs"]))
            with pytest.raises(QueueError, match=r"(400|422): .*Only an uploaded file can be opened"):
                visitor.call(function["id"], data)
            with pytest.raises(QueueError, match=r"(400|422): .*Only an uploaded file can be opened"):
                visitor.call(function["id"], event_data={"deep": [{"path": address}]})


def test_no_function_is_called_around_the_queue(app: RunningApp, visitor: QueueClient) -> None:
    for function in every_function(visitor):
        data = [visitor.values[number] for number in function["inputs"]]
        body = {"data": data, "fn_index": function["id"], "session_hash": visitor.session}
        other = "run/predict" if function["queue"] else "queue/join"
        with httpx.Client(base_url=app.address, trust_env=False) as http:
            answer = http.post(f"{API}/{other}", json=body)
        assert (answer.status_code, answer.json()) == (400, {"detail": "The page has no such function."})


def test_bodies_are_limited_in_size_and_tell_it(app: RunningApp, visitor: QueueClient) -> None:
    join = {"data": ["x" * 1_000_000], "fn_index": 0, "session_hash": visitor.session}
    half = b"\0" * (LARGEST_UPLOAD // 2 + 100_000)
    with httpx.Client(base_url=app.address, trust_env=False, timeout=60) as http:
        assert http.post(f"{API}/queue/join", json=join).status_code == 413
        assert http.post(f"{API}/queue/join", content=iter([b"{}"])).status_code == 411
    with httpx.Client(base_url=app.address, trust_env=False, timeout=60) as http:
        many = [("files", (f"{n}.png", half)) for n in range(2)]  # each is small enough
        assert http.post(f"{API}/upload", files=many).status_code == 413
    with httpx.Client(base_url=app.address, trust_env=False, timeout=60) as http:
        field = {"text": "x" * (LARGEST_UPLOAD + 200_000)}
        assert http.post(f"{API}/upload", data=field, files={"files": ("x.png", b"x")}).status_code == 413
    for path in ("queue/join", "upload"):  # chunks have no end, whatever length is told besides
        direct = HTTPConnection(urlsplit(app.address).netloc, timeout=60)
        told = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
        direct.request("POST", f"{API}/{path}", iter([b"{}"]), told, encode_chunked=True)
        assert direct.getresponse().status == 411
        direct.close()


def test_what_was_refused_left_no_trace_of_the_code_in_the_log(app: RunningApp) -> None:
    assert "Traceback" not in app.read_log()
