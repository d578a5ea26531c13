"""The training loop: Accelerate moves tensors and gradients, everything else is a function of the step.

Interrupting a run at any moment loses at most what was done since the last saved state; `resume`
continues to the same result as an uninterrupted run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

import tnet_core as tn
from tnet_core.checkpoints.files import reason
from tnet_core.errors import TNetError
from tnet_core.inference.optimise.folding import fold_frozen
from tnet_core.modeling.tnet import TNet
from training.data import check_classes, open_split
from training.data.loading import training_loader, unpack
from training.data.sample import ImageDataset
from training.ema import WeightAverage
from training.evaluation.curve import validation_curve
from training.freezing import freeze, training_mode
from training.learner import LOGGED, Learner
from training.metrics import Averages, Metrics
from training.optimiser import make_optimiser, rate_factor, set_rates
from training.recipes.reading import to_mapping
from training.recipes.recipe import Recipe
from training.run_folder import (
    CHECKPOINT_FOLDER,
    check_folder,
    fingerprint,
    make_folder,
    refuse_changes,
    write_checkpoint,
    write_recipe,
)
from training.run_state import RunState, load_state, optimiser_tensors, part, restore_optimiser, save_state
from training.running_accuracy import batch_accuracy
from training.stopping import Stopping
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
        self.stopping = Stopping(minutes)
        self.recipe, self.out, self._quiet = recipe, out, quiet
        if recipe.precision == "fp16" and not torch.cuda.is_available():
            raise TNetError("'precision' is fp16, which needs a GPU; use bf16 or no.")
        check_folder(out, resume=resume)
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
        self.per_epoch = len(self.data) // recipe.batch_size
        if self.per_epoch == 0:
            raise TNetError(
                f"The training split has {len(self.data)} images, fewer than one batch of {recipe.batch_size}; "
                "make batch_size smaller."
            )
        self.steps = max(1, round(recipe.epochs * self.per_epoch))
        self.metrics: Metrics | None = None
        self._values: list[torch.Tensor] = []  # of the parts of the current step
        self._norm = 0.0  # of the last step's gradient
        self._validation_seconds = 0.0
        state = load_state(out) if resume else None
        self._anew = resume and state is None
        self._build(state)

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
        self.origin = warm_start(model, recipe.init) if state is None else ""
        freeze(model, recipe.freeze)
        if recipe.channels_last:
            model.to(memory_format=torch.channels_last)
        self.model: TNet = model.to(self.accelerator.device)
        self.average = WeightAverage(model, recipe.ema) if recipe.ema else None
        self._optimiser = make_optimiser(model, recipe.optim)
        self.step, self._saved_step = 0, -1
        self._spent = 0.0  # seconds of earlier sittings
        if state is not None:
            try:
                self._restore(state)
            except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
                if isinstance(error, TNetError):
                    raise
                raise TNetError(f"The saved state in '{self.out}' is damaged ({reason(error)}); remove it.") from None
        loader = training_loader(recipe, self.data, self.step * recipe.accumulate, self.steps * recipe.accumulate)
        self.learner = Learner(model, recipe)
        self.wrapped, self.optimiser, self.loader = self.accelerator.prepare(self.learner, self._optimiser, loader)
        if state is not None and self.accelerator.scaler is not None and state.numbers.get("scaler"):
            self.accelerator.scaler.load_state_dict(state.numbers["scaler"])

    def _restore(self, state: RunState) -> None:
        refuse_changes(self.recipe, fingerprint(self.data), state.numbers)
        self.origin, self._spent = state.numbers["origin"], float(state.numbers["seconds"])
        self.model.load_state_dict(part(state.tensors, "model."))
        if self.average is not None:
            self.average.model.load_state_dict(part(state.tensors, "average."))
        restore_optimiser(self._optimiser, state.tensors)
        self.step = self._saved_step = state.step

    # The loop ----------------------------------------------------------------------------------

    def run(self) -> Path:
        if self.accelerator.is_main_process:
            make_folder(self.out)
            write_recipe(self.out, self.recipe)
            self.metrics = Metrics(self.out, self.steps, self.step, quiet=self._quiet)
            if self._anew:
                self.metrics.say(f"There is nothing to continue in '{self.out}'; starting anew.")
        self._saved_at = monotonic()
        try:
            with self.stopping:
                return self._conclude(self._loop())
        except RuntimeError as error:
            if "DataLoader worker" not in str(error):
                raise
            raise TNetError(
                "A process that loads images died, perhaps for lack of memory; try data.workers=0 or fewer."
            ) from None
        finally:
            if self.metrics is not None:
                self.metrics.close()

    def _loop(self) -> bool:
        """True when the last step was done, False when time was up or somebody asked to stop."""
        training_mode(self.model, self.recipe.freeze)
        fold_frozen(self.model)  # what does not learn runs faster with its batch norms folded
        averages, window, since = Averages(), monotonic(), self.step
        for batch in self.loader:
            images, labels = unpack(batch)
            if self.recipe.channels_last:
                images = images.contiguous(memory_format=torch.channels_last)
            if not self._part(images, labels):
                continue
            self.step += 1
            values, stop = self._shared_values()
            averages.add(values)
            self._refuse_nonsense(values["loss"])
            if self.step % _LOG_EVERY == 0 or self.step == self.steps:
                now = monotonic()
                self._log(averages.take(), labels, (self.step - since) / max(now - window, 1e-9))
                window, since = now, self.step
            if self.metrics is not None:
                self.metrics.advance()
            if self.step == self.steps:
                return True
            if stop:
                return False
            if self._validation_due():
                self._save()  # first: what goes wrong in a validation must not cost what was learned
                self._validate()
                window, since = monotonic(), self.step
            elif monotonic() - self._saved_at > 60 * self.recipe.save_minutes:
                self._save()
        return True

    def _part(self, images: torch.Tensor, labels: torch.Tensor) -> bool:
        """Forward and backward of one part of a step; True when it completed the step."""
        torch.manual_seed(self._seed_of_part())
        set_rates(self._optimiser, rate_factor(self.recipe.optim, self.step, self.steps))
        with self.accelerator.accumulate(self.wrapped):
            found = self.wrapped(images, labels)
            logged = [found[name].detach().float() for name in ("loss", "next_baseline", *LOGGED)]
            self._values.append(torch.stack(logged))
            self.accelerator.backward(found["loss"])
            complete = bool(self.accelerator.sync_gradients)
            if complete:
                limit = self.recipe.optim.clip_norm or math.inf
                self._norm = float(self.accelerator.clip_grad_norm_(self.learner.parameters(), limit))
            # Gradients that are not numbers would spoil weights that are still good. In half
            # precision they are expected now and then, and the loss scaler leaves the step out.
            if self.accelerator.scaler is not None or math.isfinite(self._norm):
                self.optimiser.step()
            self.optimiser.zero_grad()
        return complete

    def _refuse_nonsense(self, loss: float) -> None:
        scaled = self.accelerator.scaler is not None
        if math.isfinite(loss) and (scaled or math.isfinite(self._norm)):
            return
        what = "gradient" if math.isfinite(loss) else "loss"
        kept = f"what was saved before is kept in '{self.out}'" if self._saved_step > 0 else "nothing was saved yet"
        raise TNetError(
            f"The {what} is not a number any more at step {self.step}; {kept}. A smaller learning rate may help."
        )

    def _seed_of_part(self) -> int:
        """Dropout and exploration: another draw for every part of every step on every process."""
        number = (self.step * self.recipe.accumulate + len(self._values)) * self.accelerator.num_processes
        return (self.recipe.seed * 0x9E3779B1 + number + self.accelerator.process_index) % 2**63

    def _shared_values(self) -> tuple[dict[str, float], bool]:
        """Means over parts and processes, the new reward baseline, and whether to stop."""
        mean = torch.stack(self._values).mean(0)
        self._values = []
        stop = mean.new_tensor([float(self.stopping.due())])
        total = self.accelerator.reduce(torch.cat([mean, stop]), "mean")
        if hasattr(self.model, "reward_baseline") and bool(torch.isfinite(total[1])):
            self.model.reward_baseline.copy_(total[1])
        if self.average is not None:
            self.average.update(self.model, self.step)
        names = ("loss", "baseline", *LOGGED)
        return dict(zip(names, total[:-1].tolist(), strict=True)), bool(total[-1] > 0)

    # What is measured and written --------------------------------------------------------------

    @property
    def measured(self) -> TNet:
        """The model that gets measured and saved."""
        return self.model if self.average is None else self.average.model

    def _log(self, values: dict[str, float], labels: torch.Tensor, steps_per_second: float) -> None:
        images = self.recipe.batch_size * steps_per_second
        self._expect_validation(images)
        if self.metrics is None or self.learner.last is None:
            return
        accuracy = batch_accuracy(self.model, self.learner.last, labels.repeat(self.recipe.loss.samples))
        rates = {f"lr_{group['name']}": group["lr"] for group in self._optimiser.param_groups}
        more = {"gradient_norm": self._norm, **rates, "images_per_second": images}
        self.metrics.training(self.step, self.step / self.per_epoch, values | more, accuracy)

    def _expect_validation(self, images_per_second: float) -> None:
        """Before one was timed: looking costs about half of learning."""
        if not self._validation_seconds:
            count = min(len(self.validation), self.recipe.validation_images or len(self.validation))
            self.stopping.reserve = 5.0 + 0.5 * count / images_per_second

    def _validation_due(self) -> bool:
        every = self.recipe.validate_every
        return every > 0 and self.step % max(1, round(every * self.per_epoch)) == 0

    def _validate(self) -> None:
        began = monotonic()
        curve = validation_curve(
            self.measured,
            self.validation,
            None,
            self.recipe.batch_size // self.accelerator.num_processes or 1,
            limit=self.recipe.validation_images,
            accelerator=self.accelerator,
            workers=self.recipe.data.workers,
        )
        self._validation_seconds = monotonic() - began
        self.stopping.reserve = 5.0 + 1.2 * self._validation_seconds
        if self.metrics is not None:
            self.metrics.validation(self.step, self.step / self.per_epoch, curve)

    def _save(self) -> None:
        self._saved_at = monotonic()
        if self.accelerator.is_main_process:
            if self._saved_step != self.step:
                save_state(self.out, self._state())
            self._write_checkpoint()
        self._saved_step = self.step
        self.accelerator.wait_for_everyone()

    def _state(self) -> RunState:
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        if self.average is not None:
            tensors |= {f"average.{name}": value for name, value in self.average.model.state_dict().items()}
        tensors |= optimiser_tensors(self._optimiser)
        scaler = self.accelerator.scaler
        numbers = {
            "recipe": to_mapping(self.recipe),
            "data": fingerprint(self.data),
            "origin": self.origin,
            "seconds": self._spent + self.stopping.seconds,
            "scaler": scaler.state_dict() if scaler is not None else None,
        }
        return RunState(self.step, tensors, numbers)

    def _write_checkpoint(self) -> Path:
        details = {
            "initial_weights": self.origin,
            "training_set": f"{self.data.name} {self.data.split}, {len(self.data)} images",
            "steps": self.step,
            "epochs": round(self.step / self.per_epoch, 3),
            "training_hours": round((self._spent + self.stopping.seconds) / 3600, 3),
            "processes": self.accelerator.num_processes,
        }
        return write_checkpoint(self.out, self.measured, self.recipe, self.data.class_names, details)

    def _conclude(self, finished: bool) -> Path:
        self._save()
        known = self.metrics is not None and self.metrics.validated == self.step
        # All processes must agree, and only the main one knows.
        skip = torch.tensor(float(known or (self.stopping.asked and not finished)), device=self.accelerator.device)
        if not bool(self.accelerator.reduce(skip, "sum") > 0):
            self._validate()
        folder = self.out / CHECKPOINT_FOLDER
        if self.metrics is not None:
            done = "Finished" if finished else f"Stopped at step {self.step} of {self.steps} (--resume continues)"
            self.metrics.say(f"{done}; checkpoint: {folder}")
        return folder
