"""The training loop: Accelerate moves tensors and gradients, everything else is a function of the step.

Interrupting a run at any moment loses at most what was done since the last saved state; `resume`
continues to the same result as an uninterrupted run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import torch

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data import open_splits
from training.data.loading import check_batch_size, make_training_loader, unpack
from training.data.sample import ImageDataset
from training.data.unreadable import IMAGES_FILE, restore_numbering, write_image_list
from training.engine import run_folder
from training.engine.folding import fold_frozen
from training.engine.metrics import METRICS_FILE, Averages, Metrics
from training.engine.optimiser import WeightAverage, freeze, make_contiguous, make_optimiser, set_training_mode
from training.engine.run_folder import CHECKPOINT_FOLDER, RunState
from training.engine.step import Learner, OptimisationStep, make_accelerator
from training.engine.validation import Stopping, Validation, measure_batch
from training.engine.warm_start import warm_start
from training.recipes.reading import recipe_to_mapping
from training.recipes.recipe import Recipe

_LOG_EVERY = 10  # steps between records
# Of a run that was killed while it saved its first state.
_RECORDS = (METRICS_FILE, "tensorboard", IMAGES_FILE)


def train(
    recipe: Recipe,
    out: Path | str,
    *,
    resume: bool = False,
    minutes: float | None = None,
    quiet: bool = False,
    open_data: Callable[[str], ImageDataset] | None = None,
) -> Path:
    """Train as the recipe says and return the checkpoint folder. `open_data` replaces the recipe's data set."""
    return Trainer(recipe, Path(out), resume=resume, minutes=minutes, quiet=quiet, open_data=open_data).run()


class Trainer:
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
        is_killed = resume and bool(run_folder.list_leftovers(out))
        run_folder.check_folder(out, resume=resume, leftovers=_RECORDS if is_killed else ())
        self.accelerator = make_accelerator(recipe)
        self.data, validation_data = open_splits(recipe, open_data, check=not resume)
        if resume:
            self.data = restore_numbering(out, self.data, skip=recipe.data.skip_unreadable)
        check_batch_size(self.data, recipe.batch_size)
        self.per_epoch = len(self.data) // recipe.batch_size
        self.steps = max(1, round(recipe.epochs * self.per_epoch))
        self.validation = Validation(recipe, validation_data, self.per_epoch, self.accelerator, self.stopping)
        self.metrics: Metrics | None = None
        state = run_folder.load_state(out) if resume else None
        self._is_begun, self._is_anew = state is not None, resume and state is None
        self._build(state)

    def _build(self, state: RunState | None) -> None:
        """Make the model and everything that changes it, as new or as a saved state left it."""
        recipe = self.recipe
        model = tn.build(recipe.config, seed=recipe.seed, device="cpu")
        self.origin = warm_start(model, recipe.init) if state is None else ""
        freeze(model, recipe.freeze)
        self._memory_format = torch.channels_last if recipe.channels_last else torch.contiguous_format
        if not recipe.channels_last:
            make_contiguous(model)
        self.model: TNet = model.to(self.accelerator.device)
        self.average = WeightAverage(model, recipe.ema) if recipe.ema else None
        self._optimiser = make_optimiser(model, recipe.optim)
        self.step, self._saved_step = 0, -1
        self._earlier_seconds = 0.0  # of earlier sittings
        if state is not None:
            with run_folder.refuse_damage(self.out):
                self._restore(state)
        loader = make_training_loader(recipe, self.data, self.step * recipe.accumulate, self.steps * recipe.accumulate)
        self.learner = Learner(model, recipe)
        wrapped, optimiser, self.loader = self.accelerator.prepare(self.learner, self._optimiser, loader)
        self._current = OptimisationStep(recipe, self.accelerator, wrapped, optimiser, self.steps)
        if state is not None and self.accelerator.scaler is not None and state.numbers.get("scaler"):
            self.accelerator.scaler.load_state_dict(state.numbers["scaler"])

    def _restore(self, state: RunState) -> None:
        run_folder.refuse_changes(self.recipe, run_folder.fingerprint_data(self.data), state.numbers)
        self.origin, self._earlier_seconds = state.numbers["origin"], float(state.numbers["seconds"])
        self.model.load_state_dict(run_folder.select_tensors(state.tensors, "model."))
        if self.average is not None:
            self.average.model.load_state_dict(run_folder.select_tensors(state.tensors, "average."))
        run_folder.restore_optimiser(self._optimiser, state.tensors)
        self.step = self._saved_step = state.step

    # The loop ----------------------------------------------------------------------------------

    def run(self) -> Path:
        """Do all steps, or as many as time allows, and return the checkpoint folder."""
        if not self.accelerator.is_main_process:
            return self._run()
        with run_folder.lock_folder(self.out):
            states = run_folder.list_states(self.out)
            if states and states[-1].name != run_folder.name_state(self.step):
                raise TNetError(f"Another process went on with the run in '{self.out}' meanwhile; try again.")
            return self._run()

    def _run(self) -> Path:
        if self.accelerator.is_main_process:
            run_folder.write_recipe(self.out, self.recipe)
            if not self._is_begun:
                write_image_list(self.out, self.data)
            self.metrics = Metrics(self.out, self.steps, self.step, quiet=self._quiet)
            if self._is_anew:
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
        """Return True when the last step was done, False when time was up or somebody asked to stop."""
        set_training_mode(self.model, self.recipe.freeze)
        fold_frozen(self.model)  # what does not learn runs faster with its batch norms folded
        averages, window, since = Averages(), monotonic(), self.step
        for batch in self.loader:
            images, labels = self._unpack(batch)
            images = images.contiguous(memory_format=self._memory_format)
            if not self._current.add_part(images, labels, self.step):
                continue
            self.step += 1
            values, stop = self._current.finish(stop=self.stopping.is_due())
            self._update_followers(values["baseline"])
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
            if self.validation.is_due(self.step):
                self._save()  # first: what goes wrong in a validation must not cost what was learned
                self._validate()
                window, since = monotonic(), self.step
            elif monotonic() - self._saved_at > 60 * self.recipe.save_minutes:
                self._save()
        return True

    def _unpack(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and labels; what was learned is saved before an image that cannot be read ends the run."""
        try:
            return unpack(batch)
        except TNetError:
            if self.step > 0 and self.accelerator.num_processes == 1:
                self._save()
            raise

    def _update_followers(self, baseline: float) -> None:
        """Bring what follows a step up to date: the reward baseline and the average of the weights."""
        if hasattr(self.model, "reward_baseline") and math.isfinite(baseline):
            self.model.reward_baseline.fill_(baseline)
        if self.average is not None:
            self.average.update(self.model, self.step)

    def _refuse_nonsense(self, loss: float) -> None:
        what = self._current.find_nonfinite(loss)
        if what:
            kept = f"what was saved before is kept in '{self.out}'" if self._saved_step > 0 else "nothing was saved yet"
            raise TNetError(
                f"The {what} is not a number any more at step {self.step}; {kept}. A smaller learning rate may help."
            )

    # What is measured and written --------------------------------------------------------------

    @property
    def measured_model(self) -> TNet:
        """The model that gets measured and saved."""
        return self.model if self.average is None else self.average.model

    def _log(self, values: dict[str, float], labels: torch.Tensor, steps_per_second: float) -> None:
        images = self.recipe.batch_size * steps_per_second
        self.validation.expect(images)
        if self.metrics is None or self.learner.last is None:
            return
        accuracy = measure_batch(self.model, self.learner.last, labels.repeat(self.recipe.loss.samples))
        rates = {f"lr_{group['name']}": group["lr"] for group in self._optimiser.param_groups}
        more = {"gradient_norm": self._current.gradient_norm, **rates, "images_per_second": images}
        self.metrics.record_training(self.step, self.step / self.per_epoch, values | more, accuracy)

    def _validate(self) -> None:
        curve = self.validation.measure(self.measured_model)
        if self.metrics is not None:
            self.metrics.record_validation(self.step, self.step / self.per_epoch, curve)

    def _save(self) -> None:
        self._saved_at = monotonic()
        if self.accelerator.is_main_process:
            if self._saved_step != self.step:
                run_folder.save_state(self.out, self._state())
            self._write_checkpoint()
        self._saved_step = self.step
        self.accelerator.wait_for_everyone()

    def _state(self) -> RunState:
        average = None if self.average is None else self.average.model
        tensors = run_folder.collect_tensors(self.model, average, self._optimiser)
        scaler = self.accelerator.scaler
        numbers = {
            "recipe": recipe_to_mapping(self.recipe),
            "data": run_folder.fingerprint_data(self.data),
            "origin": self.origin,
            "seconds": self._earlier_seconds + self.stopping.seconds,
            "scaler": scaler.state_dict() if scaler is not None else None,
        }
        return RunState(self.step, tensors, numbers)

    def _write_checkpoint(self) -> Path:
        details = {
            "initial_weights": self.origin,
            "training_set": f"{self.data.name} {self.data.split}, {len(self.data)} images",
            "steps": self.step,
            "epochs": round(self.step / self.per_epoch, 3),
            "training_hours": round((self._earlier_seconds + self.stopping.seconds) / 3600, 3),
            "processes": self.accelerator.num_processes,
        }
        return run_folder.write_checkpoint(self.out, self.measured_model, self.recipe, self.data.class_names, details)

    def _conclude(self, is_finished: bool) -> Path:
        """Save, validate if the last step was not, and return the checkpoint folder."""
        self._save()
        is_validated = self.metrics is not None and self.metrics.validated == self.step
        skips = is_validated or (self.stopping.is_requested and not is_finished)
        # All processes must agree, and only the main one knows.
        votes = torch.tensor(float(skips), device=self.accelerator.device)
        if not bool(self.accelerator.reduce(votes, "sum") > 0):
            self._validate()
        folder = self.out / CHECKPOINT_FOLDER
        if self.metrics is not None:
            done = "Finished" if is_finished else f"Stopped at step {self.step} of {self.steps} (--resume continues)"
            self.metrics.say(f"{done}; checkpoint: {folder}")
        return folder
