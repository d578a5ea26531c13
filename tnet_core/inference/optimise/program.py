"""A backbone as a flat list of calls, in two parts: up to the location map, and the rest.

A timm model is modules inside modules; what they call in the end is always the same. `recorded` runs the model
once and writes that down: leaf modules, and functions between them. Written down, it can be changed
(`rewriting`), skips the modules' own bookkeeping, and can be stopped half-way: where to look next is known
from the location map, so the rest of the backbone may wait and then take the looks of all levels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


class NotFlatError(Exception):
    """The model does something that a list of calls cannot say."""


# What makes plain numbers of values, or writes into them without a result.
_READING = {
    "__setitem__", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__contains__", "__array__", "item",
    "tolist", "numpy", "equal", "allclose", "is_nonzero",
}  # fmt: skip


class Slot(NamedTuple):
    """Where a value lies while a program runs; 0 are the images."""

    at: int


@dataclass(frozen=True)
class Call:
    """`run` with `args`, in which slots stand for values made before."""

    run: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]
    made: Slot
    shapes: tuple[torch.Size, ...]  # of the values in slots, in the order of `args`, when it was recorded
    shape: torch.Size  # of the result
    done_with: tuple[int, ...] = ()  # slots that nothing needs afterwards

    @property
    def used(self) -> tuple[Slot, ...]:
        return tuple(arg for arg in self.args if isinstance(arg, Slot))


@dataclass(frozen=True)
class Program:
    """Images (B, 3, b, b) -> location map (as the backbone has it) and feature vectors (B, D)."""

    head: tuple[Call, ...]
    tail: tuple[Call, ...]  # empty where the backbone cannot be stopped at the map
    map: Slot | None  # None: a baseline
    carried: Slot  # what the tail starts from
    vector: Slot

    @property
    def stops(self) -> bool:
        """Whether the location map is there before all of the backbone ran."""
        return bool(self.tail)

    def begin(self, images: Tensor) -> tuple[Tensor | None, Tensor]:
        """Up to the location map: the map, and what `finish` takes."""
        values = self._run(self.head, Slot(0), images)
        return None if self.map is None else values[self.map.at], values[self.carried.at]

    def finish(self, carried: Tensor) -> Tensor:
        """The rest of the backbone; nothing where `begin` has run all of it."""
        vector: Tensor = self._run(self.tail, self.carried, carried)[self.vector.at] if self.tail else carried
        return vector

    def _run(self, calls: tuple[Call, ...], first: Slot, value: Tensor) -> list[Any]:
        values: list[Any] = [None] * (self.vector.at + 1)
        values[first.at] = value
        for call in calls:
            given = [values[arg.at] if type(arg) is Slot else arg for arg in call.args]
            values[call.made.at] = call.run(*given, **call.options)
            for at in call.done_with:
                values[at] = None
        return values


@dataclass
class Recording:
    """What a model called, in order."""

    calls: list[Call]
    map: Slot | None
    vector: Slot

    def users(self, slot: Slot) -> list[int]:
        """Positions of the calls that take a value."""
        return [i for i, call in enumerate(self.calls) if slot in call.used]

    def maker(self, slot: Slot) -> int | None:
        """Position of the call that makes a value; None for the images."""
        return next((i for i, call in enumerate(self.calls) if call.made == slot), None)

    def program(self) -> Program:
        """Cut behind the map, where one value is all that the rest needs."""
        calls = self._tidied()
        cut = len(calls)
        carried = self.vector
        if self.map is not None:
            after = next((i + 1 for i, call in enumerate(calls) if call.made == self.map), None)
            if after is None:
                raise NotFlatError("The location map is none of the values.")
            made = {Slot(0)} | {call.made for call in calls[:after]}
            crossing = {slot for call in calls[after:] for slot in call.used if slot in made}
            if len(crossing) == 1:
                cut, carried = after, crossing.pop()
        return Program(tuple(calls[:cut]), tuple(calls[cut:]), self.map, carried, self.vector)

    def _tidied(self) -> list[Call]:
        """Nothing behind the vector; values are let go after their last use, but for the map and the vector."""
        end = next(i + 1 for i, call in enumerate(self.calls) if call.made == self.vector)
        del self.calls[end:]
        last: dict[Slot, int] = {}
        for i, call in enumerate(self.calls):
            last |= dict.fromkeys(call.used, i)
        kept = {self.map, self.vector}
        calls = []
        for i, call in enumerate(self.calls):
            done = tuple(slot.at for slot in dict.fromkeys(call.used) if last[slot] == i and slot not in kept)
            calls.append(replace(call, done_with=done))
        return calls


@dataclass
class _Recorder(TorchFunctionMode):
    """Everything is kept while recording, so that no two values have the same id."""

    calls: list[Call] = field(default_factory=list)
    slots: dict[int, Slot] = field(default_factory=dict)
    kept: list[object] = field(default_factory=list)
    inside: int = 0  # leaf modules that are running: what they call is theirs
    count: int = 1

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if not self.inside:
            self.note(func, args, kwargs or {}, made)
        return made

    def note(self, run: Callable[..., Any], args: Sequence[Any], options: dict[str, Any], made: Any) -> None:
        if not isinstance(made, Tensor):
            if _has_tensor(made):
                raise NotFlatError("A call makes several values.")
            if getattr(run, "__name__", "") in _READING:
                raise NotFlatError("What is called depends on values.")
            return  # a shape, a flag: what follows from it is taken as constant and checked afterwards
        if "<locals>" in getattr(run, "__qualname__", "") or type(run).__name__ == "method-wrapper":
            raise NotFlatError("A call has no name by which another process could find it.")
        if any(_has_tensor(value) for value in options.values()):
            raise NotFlatError("A value is given by name.")
        slots = tuple(self.slots.get(id(arg), arg) if isinstance(arg, Tensor) else arg for arg in args)
        if any(not isinstance(arg, Tensor) and _has_tensor(arg) for arg in args):
            raise NotFlatError("Values are given in a list.")
        shapes = tuple(arg.shape for arg in args if isinstance(arg, Tensor) and id(arg) in self.slots)
        slot = Slot(self.count)
        self.count += 1
        self.calls.append(Call(run, slots, dict(options), slot, shapes, made.shape))
        self.slots[id(made)] = slot
        self.kept.append(made)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_has_tensor(item) for item in value)
    if isinstance(value, dict):
        return any(_has_tensor(item) for item in value.values())
    return isinstance(value, Tensor)


def recorded(body: nn.Module, example: Tensor, mapped: Callable[[], list[Tensor]]) -> Recording:
    """What the module calls for `example` (1, 3, b, b); `mapped` tells the location map, if any, afterwards.

    Only this module is touched, and only while it runs: nothing of what other threads do is seen or changed.
    """
    recorder = _Recorder()
    recorder.slots[id(example)] = Slot(0)
    with torch.no_grad(), _leaves_noted(body, recorder), recorder:
        vector = body(example)
    maps = [recorder.slots.get(id(tensor)) for tensor in mapped()]
    if maps[:1] == [None] or id(vector) not in recorder.slots:
        raise NotFlatError("The result is none of the values.")
    return Recording(recorder.calls, maps[0] if maps else None, recorder.slots[id(vector)])


@contextmanager
def _leaves_noted(body: nn.Module, recorder: _Recorder) -> Iterator[None]:
    versions: list[int] = []

    def before(_: nn.Module, args: tuple[Any, ...], __: dict[str, Any]) -> None:
        recorder.inside += 1
        versions.append(args[0]._version if args and isinstance(args[0], Tensor) else 0)

    def after(module: nn.Module, args: tuple[Any, ...], options: dict[str, Any], made: Any) -> None:
        version = versions.pop()
        handed_on = bool(args) and made is args[0] and made._version == version  # as dropout does when not learning
        recorder.inside -= 1
        if not recorder.inside and not handed_on:
            run = module.__dict__.get("forward", module)
            recorder.note(run, args, options, made)

    handles = []
    for module in body.modules():
        if next(module.children(), None) is None or isinstance(module, nn.BatchNorm2d):
            handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
            handles.append(module.register_forward_hook(after, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
