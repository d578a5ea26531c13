"""The training loop: Accelerate moves tensors and gradients, everything else is a function of the step.

Interrupting a run at any moment loses at most what was done since the last saved state; `resume`
continues to the same result as an uninterrupted run.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.tnet import TNet
from training.data import check_classes, open_split
from training.data.sample import ImageDataset
from training.ema import WeightAverage
from training.evaluation.curve import validation_curve
from training.freezing import freeze, training_mode
from training.learner import LOGGED, Learner
from training.loading import training_loader, unpack
from training.metrics import Averages, Metrics
from training.optimiser import make_optimiser, rate_factor, set_rates
from training.recipe import Recipe
from training.recipe_file import to_mapping
from training.run_folder import prepare_folder, refuse_changes, write_checkpoint, write_recipe
from training.run_state import RunState, load_state, optimiser_tensors, part, restore_optimiser, save_state
from training.running_accuracy import batch_accuracy
from training.warmstart import warm_start

_LOG_EVERY = 10  # steps between records


def train(
    recipe: Recipe,
    out: Path | str,
    *,
    resume: bool = False,
    minutes: float | None = None,
    quiet: bool = False,
    open_data: Callable[[str], ImageDataset] | None = None,
) -> Path:
    """Train as the recipe says; returns the checkpoint folder. `open_data` replaces the recipe's data set."""
    return Engine(recipe, Path(out), resume=resume, minutes=minutes, quiet=quiet, open_data=open_data).run()


class Engine:
    """One process of a run."""

    def __init__(
        self,
        recipe: Recipe,
        out: Path,
        *,
        resume: bool,
        minutes: float | None,
        quiet: bool,
        open_data: Callable[[str], ImageDataset] | None = None,
    ) -> None:
        self._began = time.monotonic()
        self.recipe, self.out, self._minutes, self._quiet = recipe, out, minutes, quiet
        self.accelerator = Accelerator(
            cpu=not torch.cuda.is_available(),
            mixed_precision=recipe.precision,
            gradient_accumulation_steps=recipe.accumulate,
            step_scheduler_with_optimizer=False,
            dataloader_config=DataLoaderConfiguration(split_batches=True),
            rng_types=[],  # nothing to synchronise: every choice is a function of the seed
        )
        self._check_processes()
        opener = open_data or (lambda which: open_split(recipe.data, which, seed=recipe.seed))  # type: ignore[arg-type]
        self.data, self.validation = opener("train"), opener("validation")
        for split in (self.data, self.validation):
            check_classes(split, recipe.config)
        if self.accelerator.is_main_process:
            prepare_folder(out, resume=resume)
        self.accelerator.wait_for_everyone()
        self.per_epoch = len(self.data) // recipe.batch_size
        if self.per_epoch == 0:
            raise TNetError(
                f"The training split has {len(self.data)} images, fewer than one batch of {recipe.batch_size}; "
                "make batch_size smaller."
            )
        self.steps = max(1, round(recipe.epochs * self.per_epoch))
        self._build(load_state(out) if resume else None)

    def _check_processes(self) -> None:
        parts = self.recipe.accumulate * self.accelerator.num_processes
        if self.recipe.batch_size % parts:
            raise TNetError(
                f"A batch of {self.recipe.batch_size} images cannot be shared among {self.accelerator.num_processes} "
                f"processes in {self.recipe.accumulate} parts; make batch_size a multiple of {parts}."
            )

    def _build(self, state: RunState | None) -> None:
        recipe = self.recipe
        model = tn.build(recipe.config, seed=recipe.seed, device="cpu")
        if state is None:
            self.origin = warm_start(model, recipe.init)
        else:
            refuse_changes(recipe, state.numbers["recipe"])
            self.origin = state.numbers["origin"]
            model.load_state_dict(part(state.tensors, "model."))
        freeze(model, recipe.freeze)
        if recipe.channels_last:
            model.to(memory_format=torch.channels_last)
        model.to(self.accelerator.device)
        self.model: TNet = model
        self.average = WeightAverage(model, recipe.ema) if recipe.ema else None
        self._optimiser = make_optimiser(model, recipe.optim)
        self.step = 0
        self._spent = 0.0  # seconds of earlier sittings
        if state is not None:
            self.step, self._spent = state.step, float(state.numbers["seconds"])
            restore_optimiser(self._optimiser, state.tensors)
            if self.average is not None:
                self.average.model.load_state_dict(part(state.tensors, "average."))
        loader = training_loader(recipe, self.data, self.step * recipe.accumulate, self.steps * recipe.accumulate)
        self.learner = Learner(model, recipe)
        self.wrapped, self.optimiser, self.loader = self.accelerator.prepare(self.learner, self._optimiser, loader)
        if state is not None and self.accelerator.scaler is not None and state.numbers.get("scaler"):
            self.accelerator.scaler.load_state_dict(state.numbers["scaler"])

    # The loop ----------------------------------------------------------------------------------

    def run(self) -> Path:
        main = self.accelerator.is_main_process
        if main:
            write_recipe(self.out, self.recipe)
        self.metrics = Metrics(self.out, self.steps, self.step, quiet=self._quiet) if main else None
        self._stop_asked = False
        self._validation_seconds = 0.0
        self._saved_at = time.monotonic()
        previous = signal.signal(signal.SIGTERM, self._ask_to_stop) if main else None
        try:
            finished = self._loop()
            return self._conclude(finished)
        finally:
            if previous is not None:
                signal.signal(signal.SIGTERM, previous)
            if self.metrics is not None:
                self.metrics.close()

    def _ask_to_stop(self, _: int, __: FrameType | None) -> None:
        self._stop_asked = True

    def _loop(self) -> bool:
        """True when the last step was done, False when time was up or somebody asked to stop."""
        training_mode(self.model, self.recipe.freeze)
        averages, window = Averages(), time.monotonic()
        self._values: list[torch.Tensor] = []
        for batch in self.loader:
            images, labels = unpack(batch)
            if self.recipe.channels_last:
                images = images.contiguous(memory_format=torch.channels_last)
            if not self._part(images, labels):
                continue
            self.step += 1
            values, stop = self._shared_values()
            averages.add(values)
            if not math.isfinite(values["loss"]):
                raise TNetError(
                    f"The loss is not a number any more at step {self.step}; what was saved before is kept in "
                    f"'{self.out}'. A smaller learning rate may help."
                )
            if self.step % _LOG_EVERY == 0 or self.step == self.steps:
                now = time.monotonic()
                self._log(averages.take(), labels, now - window)
                window = now
            if self.metrics is not None:
                self.metrics.advance()
            if self.step == self.steps:
                return True
            if stop:
                return False
            if self._validation_due():
                self._validate()
                self._save()
                window = time.monotonic()
            elif time.monotonic() - self._saved_at > 60 * self.recipe.save_minutes:
                self._save()
        return True

    def _part(self, images: torch.Tensor, labels: torch.Tensor) -> bool:
        """Forward and backward of one part of a step; True when it completed the step."""
        torch.manual_seed(self._seed_of_part())
        set_rates(self._optimiser, rate_factor(self.recipe.optim, self.step, self.steps))
        with self.accelerator.accumulate(self.wrapped):
            found = self.wrapped(images, labels)
            self._values.append(
                torch.stack([found[name].detach().float() for name in ("loss", "next_baseline", *LOGGED)])
            )
            self.accelerator.backward(found["loss"])
            if self.accelerator.sync_gradients and self.recipe.optim.clip_norm is not None:
                self.accelerator.clip_grad_norm_(self.learner.parameters(), self.recipe.optim.clip_norm)
            # A step on a loss that is not a number would spoil the weights that are still good.
            if math.isfinite(float(found["loss"].detach())):
                self.optimiser.step()
            self.optimiser.zero_grad()
        return bool(self.accelerator.sync_gradients)

    def _seed_of_part(self) -> int:
        """Dropout and exploration: another draw for every part of every step on every process."""
        number = (self.step * self.recipe.accumulate + len(self._values)) * self.accelerator.num_processes
        return (self.recipe.seed * 0x9E3779B1 + number + self.accelerator.process_index) % 2**63

    def _shared_values(self) -> tuple[dict[str, float], bool]:
        """Means over parts and processes, the new reward baseline, and whether to stop."""
        mean = torch.stack(self._values).mean(0)
        self._values = []
        stop = mean.new_tensor([float(self._must_stop())])
        total = self.accelerator.reduce(torch.cat([mean, stop]), "mean")
        if hasattr(self.model, "reward_baseline") and bool(torch.isfinite(total[1])):
            self.model.reward_baseline.copy_(total[1])
        if self.average is not None:
            self.average.update(self.model, self.step)
        names = ("loss", "baseline", *LOGGED)
        return dict(zip(names, total[:-1].tolist(), strict=True)), bool(total[-1] > 0)

    def _must_stop(self) -> bool:
        if self._stop_asked:
            return True
        if self._minutes is None:
            return False
        reserve = 1.2 * self._validation_seconds + 5  # what follows the last step
        return time.monotonic() - self._began + reserve > 60 * self._minutes

    # What is written ---------------------------------------------------------------------------

    @property
    def measured(self) -> TNet:
        """The model that gets measured and saved."""
        return self.model if self.average is None else self.average.model

    def _log(self, values: dict[str, float], labels: torch.Tensor, seconds: float) -> None:
        if self.metrics is None or self.learner.last is None:
            return
        images = self.recipe.batch_size * (self.step % _LOG_EVERY or _LOG_EVERY) / max(seconds, 1e-9)
        accuracy = batch_accuracy(self.model, self.learner.last, labels.repeat(self.recipe.loss.samples))
        rates = {f"lr_{group['name']}": group["lr"] for group in self._optimiser.param_groups}
        record: dict[str, Any] = {"epoch": self.step / self.per_epoch, **values, **rates, "images_per_second": images}
        record["accuracy"] = {_budget_name(budget): top1 for budget, top1 in accuracy.items()}
        self.metrics.record("train", self.step, record)
        self.metrics.show(
            {
                "loss": f"{values['loss']:.3f}",
                "reward": f"{values['reward']:.2f}",
                "baseline": f"{values['baseline']:.2f}",
                "acc": "/".join(f"{100 * top1:.0f}" for top1 in accuracy.values()),
                "img/s": f"{images:.1f}",
            }
        )

    def _validation_due(self) -> bool:
        every = round(self.recipe.validate_every * self.per_epoch)
        return every > 0 and self.step % every == 0

    def _validate(self) -> None:
        began = time.monotonic()
        curve = validation_curve(
            self.measured,
            self.validation,
            None,
            self.recipe.batch_size // self.accelerator.num_processes or 1,
            limit=self.recipe.validation_images,
            accelerator=self.accelerator,
            workers=self.recipe.data.workers,
        )
        self._validation_seconds = time.monotonic() - began
        self._validated_at = self.step
        if self.metrics is not None:
            top1 = {_budget_name(budget): accuracy.top1 for budget, accuracy in curve.items()}
            top5 = {_budget_name(budget): accuracy.top5 for budget, accuracy in curve.items()}
            self.metrics.record("validation", self.step, {"top1": top1, "top5": top5})
            shown = "  ".join(f"{name}: {100 * value:.1f} %" for name, value in top1.items())
            self.metrics.say(f"epoch {self.step / self.per_epoch:.1f}, validation top-1 by looks  {shown}")

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        if self.accelerator.is_main_process:
            tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
            if self.average is not None:
                tensors |= {f"average.{name}": value for name, value in self.average.model.state_dict().items()}
            tensors |= optimiser_tensors(self._optimiser)
            scaler = self.accelerator.scaler
            numbers = {
                "recipe": to_mapping(self.recipe),
                "origin": self.origin,
                "seconds": self._seconds(),
                "scaler": scaler.state_dict() if scaler is not None else None,
            }
            save_state(self.out, RunState(self.step, tensors, numbers))
            self._write_checkpoint()
        self.accelerator.wait_for_everyone()

    def _seconds(self) -> float:
        return self._spent + time.monotonic() - self._began

    def _write_checkpoint(self) -> Path:
        details = {
            "initial_weights": self.origin,
            "training_set": f"{self.data.name} {self.data.split}, {len(self.data)} images",
            "steps": self.step,
            "epochs": round(self.step / self.per_epoch, 3),
            "training_hours": round(self._seconds() / 3600, 3),
            "processes": self.accelerator.num_processes,
        }
        return write_checkpoint(self.out, self.measured, self.recipe, self.data.class_names, details)

    def _conclude(self, finished: bool) -> Path:
        if getattr(self, "_validated_at", None) != self.step and (finished or not self._stop_asked):
            self._validate()
        self._save()
        folder = self.out / "checkpoint"
        if self.metrics is not None:
            done = "Finished" if finished else f"Stopped at step {self.step} of {self.steps} (--resume continues)"
            self.metrics.say(f"{done}; checkpoint: {folder}")
        return folder


def _budget_name(budget: tuple[int, ...]) -> str:
    return "+".join(str(k) for k in budget) or "all"
