"""Triton's kernel: interpreted on the CPU, compiled for GPUs that are not here, run on one that is."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tnet_core as tn
from tests.support.interpreted import stored
from tests.support.kernels import DEFAULT, FAR, LARGE, ROOT, far_case, kernel_cases, noise, on, same
from tnet_core.inference.cuda_graphs import copy_with_graphs
from tnet_core.modeling.config import Sampling
from tnet_core.sampling.gather import gather_by_torch, gather_crops, is_triton_usable

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """All cases by Triton's interpreter, in a process of its own: the variable changes what `triton.jit` makes."""
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("kernels")
    arrays: dict[str, np.ndarray] = {"picture": noise(160, 224, seed=3)}
    for name, (pixels, taps, block) in kernel_cases().items():
        arrays |= stored(name, pixels, taps, block)
    pixels, near = far_case()
    with open(folder / "far.bin", "wb") as file:
        file.seek(FAR)  # a hole: takes no space
        file.write(pixels.tobytes())
    arrays |= stored("far", np.zeros(0, np.uint8), replace(near, start=near.start + FAR), LARGE)
    np.savez(folder / "cases.npz", **arrays)  # type: ignore[arg-type]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.interpreted", str(folder)], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"TRITON_INTERPRET": "1", "TNET_KERNELS": "on", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with np.load(folder / "results.npz") as file:
        return {key: file[key] for key in file}


@pytest.mark.parametrize("name", kernel_cases())
def test_tritons_kernel_makes_the_crops_that_torch_makes(name: str, interpreted: dict[str, np.ndarray]) -> None:
    pixels, taps, _ = kernel_cases()[name]
    expected = gather_by_torch(torch.from_numpy(pixels), on(taps)).numpy()
    assert expected.std() > 0.1
    if name.startswith("native"):
        np.testing.assert_array_equal(interpreted[name], expected)
    np.testing.assert_allclose(interpreted[name], expected, rtol=0, atol=2e-6)


def test_tritons_kernel_reads_beyond_what_32_bits_address(interpreted: dict[str, np.ndarray]) -> None:
    pixels, taps = far_case()
    np.testing.assert_allclose(
        interpreted["far"], gather_by_torch(torch.from_numpy(pixels), on(taps)), rtol=0, atol=2e-6
    )


@pytest.mark.parametrize("sampling", ["official", "native"])
def test_a_traversal_by_tritons_kernel_is_the_same(sampling: Sampling, interpreted: dict[str, np.ndarray]) -> None:
    found = tn.Trace.from_json(str(interpreted[f"trace {sampling}"]))
    same(found, tn.traverse(tn.load("tnet-needles", device="cpu"), noise(160, 224, seed=3), sampling=sampling))


@pytest.mark.parametrize("capability", [75, 80, 90])
def test_tritons_kernel_compiles_for_gpus_that_are_not_here(
    capability: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    triton = pytest.importorskip("triton")
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("under the interpreter nothing is compiled")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tnet_core.sampling.triton_gather import gather_kernel

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kinds = ["*u8", "*i64", "*i64", "*i32", "*fp32", "*i32", "*fp32", "*fp32", "i32", "i32", "i32", "fp32"]
    constants = {"ROUND": 2, "BLOCK_Y": DEFAULT[0], "BLOCK_X": DEFAULT[1]}
    signature = dict(zip(gather_kernel.arg_names, kinds + ["constexpr"] * 3, strict=True))
    source = ASTSource(gather_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": False}
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    assert f".target sm_{capability}" in made.asm["ptx"] and "ld.global" in made.asm["ptx"] and made.asm["cubin"]


# On a GPU --------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_tritons_kernel_makes_the_same_crops_on_a_gpu() -> None:
    device = torch.device("cuda")
    assert is_triton_usable(device)
    for name, (pixels, taps, _) in kernel_cases().items():
        found = gather_crops(torch.from_numpy(pixels).to(device), on(taps, device))
        expected = gather_by_torch(torch.from_numpy(pixels), on(taps))
        torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=1e-5, msg=name)


@pytest.mark.gpu
@pytest.mark.parametrize("sampling", ["official", "native"])
def test_a_traversal_on_a_gpu_is_the_same_by_either_way(sampling: Sampling, monkeypatch: pytest.MonkeyPatch) -> None:
    model, image = tn.load("tnet-needles", device="cuda"), ROOT / "examples" / "needles-1.webp"
    found = tn.traverse(model, image, sampling=sampling)
    monkeypatch.setenv("TNET_KERNELS", "off")
    same(found, tn.traverse(model, image, sampling=sampling), tolerance=1e-2)  # autocast is half precision


@pytest.mark.gpu
def test_a_level_waits_for_the_gpu_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, image = tn.load("tnet-needles", device="cuda"), ROOT / "examples" / "needles-1.webp"
    tn.traverse(model, image)  # compiles, allocates
    waits = []
    plain = torch.cuda.Stream.synchronize
    monkeypatch.setattr(torch.cuda.Stream, "synchronize", lambda stream: waits.append(1) or plain(stream))
    traversal = tn.Traversal(model, image)
    torch.cuda.set_sync_debug_mode("error")  # any wait that torch makes by itself
    try:
        while targets := traversal._list_targets(limit=None):
            traversal._take(targets)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(waits) == 3


@pytest.mark.gpu
def test_a_graphed_model_says_the_same_on_a_gpu() -> None:
    model, image = tn.load("tnet-needles", device="cuda"), ROOT / "examples" / "needles-1.webp"
    expected, fast = tn.traverse(model, image), copy_with_graphs(model)
    for _ in range(2):  # recorded, then replayed
        same(tn.traverse(fast, image), expected, tolerance=1e-2)
    assert fast.features is model.features  # the weights are shared
