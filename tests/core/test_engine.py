"""An optimised copy computes what the model computes; what the engine cannot do, PyTorch does."""

from __future__ import annotations

import copy
import gc
import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import tnet_core as tn
from tests.support.models import config_of, lived
from tests.support.processes import run_python
from tnet_core.inference import conversion, converter, engine
from tnet_core.inference.engine import EngineFeatures, optimised

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the engine, which other tests do without; the same weights are converted once and kept in the cache."""
    monkeypatch.delenv("TNET_ENGINE", raising=False)
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def model() -> tn.TNet:
    return lived(config_of("tf_efficientnet_lite0", 64))


def runs_on_engine(model: tn.TNet) -> bool:
    assert isinstance(model.features, EngineFeatures)
    return model.features.engine.open(model.features).model is not None


def assert_same(found: tn.TNet, expected: tn.TNet) -> None:
    side = expected.config.base_resolution
    images, positions = torch.randn(5, 3, side, side), torch.zeros(5, 3, dtype=torch.long)
    with torch.inference_mode():
        theirs, ours = expected.look(images, positions), found.look(images, positions)
        grids = [m.locate(looked) for m, looked in ((expected, theirs), (found, ours))]
    depends = float(theirs.feature.std(0).mean())  # on the image: the network says different things of the five
    assert depends > 0.02
    torch.testing.assert_close(ours.feature, theirs.feature, rtol=0, atol=0.01 * depends)
    torch.testing.assert_close(grids[1], grids[0], rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("backbone", "base"),
    [
        ("tf_efficientnet_lite0", 64),
        ("tf_efficientnet_b0", 75),  # an odd side: TensorFlow's padding differs from layer to layer
        pytest.param("resnet18", 64, marks=pytest.mark.long),  # a baseline of it is below
        pytest.param("densenet121", 64, marks=pytest.mark.long),
        pytest.param("convnext_atto", 64, marks=pytest.mark.long),
    ],
)
def test_the_engine_computes_what_pytorch_computes(backbone: str, base: int) -> None:
    model = lived(config_of(backbone, base))
    fast = optimised(model)
    assert runs_on_engine(fast) and fast.features.precision == "float32"
    assert_same(fast, model)


def test_traversals_of_a_trained_model_take_the_same_looks() -> None:
    model = tn.load("tnet-lite0-cub", device="cpu")
    fast = optimised(model)
    for example in ("nuthatch.jpg", "needles-1.webp"):
        for sampling in ("official", "native"):
            plain, found = (tn.traverse(m, EXAMPLES / example, sampling=sampling) for m in (model, fast))
            assert [look.path for look in plain.locations] == [look.path for look in found.locations]
            np.testing.assert_allclose(found.logits(), plain.logits(), atol=1e-3)
            np.testing.assert_allclose(found.weights(), plain.weights(), atol=1e-4)


def test_a_baseline_runs_on_the_engine_too() -> None:
    config = tn.TNetConfig(backbone="resnet18", num_classes=5, input_size=64, base_resolution=64, levels=1, budget=())
    model = lived(config)
    fast, images = optimised(model), torch.randn(2, 3, 64, 64)
    assert runs_on_engine(fast)
    with torch.inference_mode():
        torch.testing.assert_close(fast(images), model(images), rtol=1e-3, atol=1e-3)


def test_a_precision_is_what_the_compiled_model_says(model: tn.TNet) -> None:
    fast = optimised(model, precision="bfloat16")
    assert runs_on_engine(fast)
    has_it = "BF16" in conversion.open_core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    assert fast.features.precision == ("bfloat16" if has_it else "float32")
    images = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        rough, exact = fast.features(images)[1], model.features(images)[1]
    assert float((rough - exact).square().mean().sqrt()) < 0.5 * float(exact.std())


def test_only_known_precisions_are_taken(model: tn.TNet) -> None:
    with pytest.raises(tn.TNetError, match=r"must be one of float32, bfloat16, not 'int8'"):
        optimised(model, precision="int8")


def test_the_original_is_left_alone_and_a_copy_can_be_saved(model: tn.TNet, tmp_path: Path) -> None:
    before = copy.deepcopy(model.state_dict())
    fast = optimised(model)
    for state in (model.state_dict(), fast.state_dict()):
        assert list(state) == list(before) and all(torch.equal(value, before[name]) for name, value in state.items())
    tn.save(fast, tmp_path / "saved")
    assert_same(tn.load(str(tmp_path / "saved"), device="cpu"), model)


def test_a_copy_survives_deepcopy_and_pickling(model: tn.TNet) -> None:
    fast, images = optimised(model), torch.randn(2, 3, 128, 128)
    for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        assert runs_on_engine(other)
        with torch.inference_mode():
            assert torch.equal(other(images, 2), fast(images, 2))


def test_a_fork_does_without_the_engine(model: tn.TNet) -> None:
    """A data loader's processes and a lent GPU's are forks of one in which the engine has run."""
    gone = optimised(model)  # the engine keeps its threads for the next model, and they are not there in the fork
    fast, images = optimised(model), torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        expected = gone.features(images)[1]
    del gone
    gc.collect()

    def check() -> bool:
        nonlocal fast
        with torch.inference_mode():
            same = torch.allclose(fast.features(images)[1], expected, rtol=1e-3, atol=1e-3)
        same = same and not runs_on_engine(fast) and not runs_on_engine(optimised(model))
        del fast
        gc.collect()  # what the parent compiled must not be destroyed here: its threads are not there
        return same

    assert fork_and_check(check)
    with torch.inference_mode():
        assert torch.equal(fast.features(images)[1], expected)


def fork_and_check(check: Callable[[], bool], seconds: float = 120) -> bool:
    """Return what a check finds in a fork of this process; False too if it does not end in time."""
    process = os.fork()
    if process == 0:  # whatever happens, end here and not in pytest
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    waiting = threading.Timer(seconds, os.kill, (process, 9))
    waiting.start()
    status = os.waitpid(process, 0)[1]
    waiting.cancel()
    return status == 0


def test_a_fork_is_refused_before_weights_are_hashed_or_converted(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimised(model)
    taken: list[object] = []
    monkeypatch.setattr(engine, "make_key", lambda *given: taken.append(given) or "key")
    monkeypatch.setattr(conversion, "take_converter", lambda: taken.append("converter"))
    assert fork_and_check(lambda: not runs_on_engine(optimised(model)) and not taken)


def test_a_fork_waits_for_no_lock_that_another_thread_held(model: tn.TNet) -> None:
    fast = optimised(model)
    fast.features.engine._compiled = None  # as while it is compiled for the first time
    with conversion._lock, converter._lock, fast.features.engine._lock:

        def check() -> bool:
            converter.dismiss()
            conversion._lock.acquire()
            return not runs_on_engine(fast)

        assert fork_and_check(check, seconds=20)
    assert runs_on_engine(fast)


def test_a_fork_leaves_converters_that_were_started_early_to_its_parent(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A fork that lives on holds their pipes open; a conversion must not wait for its end."""
    monkeypatch.setenv("TNET_CACHE", str(tmp_path))
    monkeypatch.setattr(conversion, "MAX_SECONDS", 60.0)
    early = converter.start_converter()
    sleeping = os.fork()
    if sleeping == 0:
        time.sleep(120)
        os._exit(0)
    try:
        converter.adopt(early)
        assert fork_and_check(lambda: not converter._ready and early.stdin is not None and early.stdin.closed)
        assert runs_on_engine(optimised(model)) and early.returncode is not None
    finally:
        os.kill(sleeping, 9)
        os.waitpid(sleeping, 0)


def test_a_converter_that_ended_before_it_was_needed_is_replaced(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TNET_CACHE", str(tmp_path))
    early = converter.start_converter()
    early.kill()
    early.wait()
    converter.adopt(early)
    assert runs_on_engine(optimised(model)) and not converter._ready


def test_crops_that_come_alone_and_batches_do_not_disturb_each_other(model: tn.TNet) -> None:
    """The engine prepares a model anew whenever a batch has another size than the one before."""
    compiled = optimised(model).features.engine.open(model.features)
    used: list[object] = []
    for count in (1, 3, 1, 3):
        compiled.run(torch.randn(count, 3, 64, 64))
        used.append((len(compiled._alone[1]), len(compiled._several[1])))
    assert used == [(1, 0), (1, 1), (1, 1), (1, 1)] and compiled._alone[0] is not compiled._several[0]


def test_a_precision_that_nobody_knows_runs_as_pytorch(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "PRECISIONS", {"float32": "another", "bfloat16": "bf16"})
    engine._reported.clear()
    fast = optimised(model)
    assert not runs_on_engine(fast) and fast.features.precision == "float32"
    assert "the engine computes in f32, which is none of float32, bfloat16." in caplog.text


def test_several_threads_may_look_at_once(model: tn.TNet) -> None:
    fast = optimised(model)
    batches = [torch.randn(1 + i % 3, 3, 64, 64) for i in range(8)]
    with torch.inference_mode():
        expected = [fast.features(batch)[1] for batch in batches]
    wrong: list[object] = []

    def look(batch: Tensor, vector: Tensor) -> None:
        try:
            with torch.inference_mode():
                for _ in range(10):
                    if not torch.equal(fast.features(batch)[1], vector):
                        wrong.append(batch)
        except BaseException as error:  # for the assertion below
            wrong.append(error)

    threads = [threading.Thread(target=look, args=pair) for pair in zip(batches, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_large_batches_are_run_in_parts(model: tn.TNet, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, images = optimised(model), torch.randn(7, 3, 64, 64)
    compiled = fast.features.engine.open(fast.features)
    sizes: list[int] = []
    run = compiled.run
    monkeypatch.setattr(compiled, "run", lambda part: sizes.append(len(part)) or run(part))
    monkeypatch.setattr(engine, "MAX_BATCH_PIXELS", 3 * 64 * 64)
    with torch.inference_mode():
        in_parts = fast.features(images)
    assert sizes == [3, 3, 1]
    monkeypatch.setattr(engine, "MAX_BATCH_PIXELS", 64)  # less than one crop has
    sizes.clear()
    with torch.inference_mode():
        fast.features(images[:2])
        nothing = fast.features(images[:0])
    assert sizes == [1, 1]  # no part without a crop reaches the engine, whose memory would be damaged
    assert nothing[1].shape == (0, in_parts[1].shape[1])
    monkeypatch.setattr(engine, "MAX_BATCH_PIXELS", 1 << 30)
    with torch.inference_mode():
        for part, whole in zip(in_parts, fast.features(images), strict=True):
            torch.testing.assert_close(part, whole, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("count", "most", "parts"),
    [(1, 4, [1]), (5, 4, [4, 1]), (6, 4, [3, 3]), (7, 4, [3, 3, 1]), (25, 7, [6, 6, 6, 6, 1]), (11, 4, [4, 4, 3])],
)
def test_parts_of_a_batch_have_one_size_where_they_can(count: int, most: int, parts: list[int]) -> None:
    assert [len(part) for part in torch.zeros(count).split(engine.choose_part(count, most))] == parts


def test_inputs_of_another_size_and_gradients_go_through_pytorch(model: tn.TNet) -> None:
    fast = optimised(model)
    images = torch.randn(2, 3, 96, 96)
    with torch.inference_mode():
        assert torch.equal(fast.features(images)[1], model.features(images)[1])
    small = torch.randn(2, 3, 64, 64, requires_grad=True)
    fast.features(small)[1].sum().backward()
    assert small.grad is not None and float(small.grad.abs().max()) > 0


class Replaced(nn.Module):
    """A backbone that no configuration names."""

    def forward(self, x: Tensor) -> Tensor:
        return x.relu().mean((2, 3)) * x.shape[0]


def with_replaced_body() -> tn.TNet:
    model = lived(config_of("resnet18", 64))
    model.features.body, model.features.tap = Replaced(), None
    return model


def test_what_cannot_be_converted_runs_as_pytorch_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    engine._reported.clear()
    images = torch.randn(3, 3, 64, 64)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            fast = optimised(with_replaced_body())
            assert not runs_on_engine(fast) and fast.features.precision == "float32"
            assert torch.equal(fast.features(images)[1], 3 * images.relu().mean((2, 3)))
    assert [record.message for record in caplog.records] == [
        "'resnet18' runs as plain PyTorch, slower and with the same numbers: its backbone is not the one that its "
        "configuration names."
    ]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import os; os.kill(os.getpid(), 11)", "ended with code -11"),
        ("import time; time.sleep(60)", "took more than 1 seconds"),
        ("print('it has no weights')", "it has no weights"),
    ],
)
def test_a_conversion_that_crashes_or_hangs_takes_nothing_down(
    code: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TNET_CACHE", str(tmp_path))
    monkeypatch.setattr(converter, "COMMAND", ("-c", code))
    monkeypatch.setattr(conversion, "MAX_SECONDS", 1.0 if "sleep" in code else 60.0)
    engine._reported.clear()
    model = lived(config_of("resnet18", 64))
    fast = optimised(model)
    assert not runs_on_engine(fast) and why in caplog.text
    assert_same(fast, model)
    assert not list((tmp_path / "engine").iterdir())


def test_without_openvino_models_run_as_pytorch(
    model: tn.TNet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    engine._reported.clear()
    fast = optimised(model)
    assert not runs_on_engine(fast) and "OpenVINO is not installed" in caplog.text
    assert_same(fast, model)


def test_other_number_formats_run_as_pytorch() -> None:
    model = lived(config_of("resnet18", 64)).double()
    images = torch.randn(2, 3, 128, 128, dtype=torch.float64)
    with torch.inference_mode():
        torch.testing.assert_close(optimised(model)(images, 2), model(images, 2), rtol=1e-6, atol=1e-6)


def test_a_copy_can_be_made_inside_inference_mode(model: tn.TNet) -> None:
    images = torch.randn(2, 3, 128, 128)
    with torch.inference_mode():
        torch.testing.assert_close(optimised(model)(images, 2), model(images, 2), rtol=1e-3, atol=1e-3)


def test_graphs_are_for_cuda() -> None:
    with pytest.raises(tn.TNetError, match="on a CUDA device"):
        optimised(tn.build(config_of("resnet18", 64), device="cpu"), graphs=True)


def test_a_model_that_is_being_trained_is_refused() -> None:
    with pytest.raises(tn.TNetError, match=r"training mode; call model.eval\(\)"):
        optimised(tn.build(config_of("resnet18", 64)).train())


def test_batch_norm_sees_a_whole_level_while_it_learns() -> None:
    model = tn.build(config_of("resnet18", 64)).train()
    sizes: list[int] = []
    model.features.register_forward_hook(lambda _, given, __: sizes.append(len(given[0])))
    model.forward_train(torch.randn(40, 3, 128, 128), 2)
    assert sizes == [40, 80]


SIGNALS = """
import gc, os, signal
import torch
import tnet_core as tn
from tests.support.models import config_of, lived
from tests.support.processes import run_python

heard = []
signal.signal(signal.SIGCHLD, lambda *given: heard.append(given))  # as data loaders do
config = config_of("tf_efficientnet_lite0", 64)
torch.manual_seed(0)
first = tn.optimised(lived(config))
second = tn.optimised(lived(config))
for name in ("first", "second"):  # in this order the stack of the first would be given back when it is gone
    del globals()[name]
    gc.collect()
os.kill(os.getpid(), signal.SIGCHLD)
print("heard", len(heard))
"""


def test_signals_are_handled_after_engines_are_gone(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TNET_ENGINE"}
    done = run_python("-c", SIGNALS, cwd=ROOT, env=environment, folder=tmp_path, timeout=240)
    assert (done.returncode, done.stdout) == (0, "heard 1\n"), done.stderr
