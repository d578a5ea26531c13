"""Peak memory of this process while something runs."""

from __future__ import annotations

import contextlib

import torch


class PeakMemory:
    """Start a new high-water mark; `read` returns how high it got, in bytes (0 where unknown).

    On CUDA the allocator's peak; on Linux the kernel's resident-set mark, which covers the whole
    process: two runs at once see each other's.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        else:
            with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
                file.write("5")

    def read(self) -> int:
        if self.device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self.device))
        with contextlib.suppress(OSError), open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0
