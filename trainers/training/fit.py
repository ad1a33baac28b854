"""How an objective is trained: its optimiser, what happens at each step, what is logged, which weights are kept."""

import copy
import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from augment.record import record_folder
from pipelines.base.console import TwinviewsError, note, progress
from pipelines.base.files import write_if_changed
from trainers.data.examples import Order, Rows
from trainers.encoders.location import LOG
from trainers.encoders.modules import Encoder
from trainers.losses import geometry
from trainers.objective import Objective
from trainers.processes import is_first, of_first, process_seed, processes, summed
from trainers.settings import Training
from trainers.training.best import (
    DEV,
    History,
    dev_scores,
    keep_best,
    load_weights,
    out_of_patience,
    restore_best,
)
from trainers.training.directory import CHECKPOINTS, WEIGHTS, history_of, newest_checkpoint

if TYPE_CHECKING:
    from trainers.scores.task import Task

COLLAPSED = 0.05  # below this spread the mean cosine between sentences is above 0.997
FALLEN = 5.0  # a development score this many points below the one before the training is more than noise


class Fitted(NamedTuple):
    """How a training went."""

    steps: int
    seconds: float  # of this run
    last: Mapping[str, float]  # line of the log
    dev: Mapping[int, float]  # scores by step
    saved_step: int  # whose weights the objective has now, in the first process


def fit(objective: Objective, rows: Rows, out: Path, seed: int, dev: "Task | None" = None) -> Fitted:
    """Train `objective`, freshly built on the CPU, in place, resuming from the newest checkpoint under `out`.

    A resumed run ends with exactly the parameters of an uninterrupted one, several processes, all calling
    this, up to rounding. Raises TwinviewsError: numbers are no longer finite. Raises InputError: a setting
    that cannot be had here.
    """
    training = objective.settings
    out.mkdir(parents=True, exist_ok=True)
    start = copy.deepcopy(objective.encoder.state_dict()) if training.blend < 1 else {}
    checkpoint = newest_checkpoint(out)
    seconds, history = 0.0, history_of(checkpoint) if checkpoint else []
    done = int(history[-1]["step"]) if history else 0
    if done:
        note(f"resuming {out} at step {done}")
    if not training.total_steps(len(rows)):
        return _prepared(objective, rows, out, seed, dev)
    objective.before_training(out / CHECKPOINTS)
    if checkpoint is not None and out_of_patience(training, history):
        # Killed after its last step: Trainer would take another one.
        load_weights(objective, checkpoint / WEIGHTS)
    else:
        trainer = ObjectiveTrainer(objective, rows, out, seed, dev, start, resumed=checkpoint is not None)
        with progress("training", training.total_steps(len(rows)), unit="steps", done=done) as advance:
            trainer.add_callback(StepCallback(trainer, advance))
            torch.manual_seed(process_seed(seed))  # for dropout; checkpoints hold its state
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        history = trainer.state.log_history
        seconds = history[-1]["train_runtime"]
    steps = int(history[-1]["step"])
    best = None if training.keep == "last" else restore_best(out / CHECKPOINTS, objective, history)
    # The loss of a step is from before its update.
    if of_first(not all(parameter.isfinite().all() for parameter in objective.encoder.parameters())):
        raise diverged("the encoder's weights became NaN or infinite", steps, training)
    blend_into(objective.encoder, start, training.blend)
    last = [line for line in log_lines(history) if "loss" in line][-1]
    return Fitted(steps, seconds, last, dev_scores(history), steps if best is None else best)


def _prepared(objective: Objective, rows: Rows, out: Path, seed: int, dev: "Task | None") -> Fitted:
    """Do what comes before the first step, and score that."""
    torch.manual_seed(seed)
    objective.before_first_step(rows)
    score = score_on(dev, objective.encoder, objective.settings, 0)
    if score is not None and is_first():
        write_if_changed(out / LOG, json.dumps({DEV: score, "step": 0}) + "\n")
    return Fitted(0, 0.0, {"loss": math.nan}, {} if score is None else {0: score}, 0)


@torch.no_grad()
def blend_into(encoder: nn.Module, start: Mapping[str, Tensor], share: float) -> None:
    """Make an encoder's weights `(1 - share) start + share trained`, tensor by tensor, if there is a `start`.

    `share` is in [0, 1].
    """
    if not start:
        return
    state = encoder.state_dict()
    floats = {name: value.to(start[name]) for name, value in state.items() if value.is_floating_point()}
    mixed = {name: torch.lerp(start[name], end, share) for name, end in floats.items()}
    encoder.load_state_dict(state | mixed)


def score_on(dev: "Task | None", encoder: Encoder, settings: Training, step: int) -> float | None:
    """The score on a development set, computed in the first process for all, or None, with a warning."""
    score = None
    if dev is not None and is_first():
        from trainers.scores.dev_set import dev_score

        score = dev_score(dev, encoder, bf16=settings.precision == "bf16")
        if score is None:
            note(
                f"warning: the score on --dev {settings.dev} is undefined at step {step}: its texts are all alike"
            )
    return of_first(score)  # type: ignore[no-any-return]


def diverged(what: str, step: int, training: Training) -> TwinviewsError:
    """Return the error of a training whose numbers are no longer finite."""
    advice = f"lower --lr ({training.lr:g}), set --clip 1, or use --precision fp32"
    return TwinviewsError(f"{what} by step {step}: {advice}")


def training_arguments(training: Training, out: Path, seed: int, total: int) -> TrainingArguments:
    """Trainer's arguments: silent, about fifty lines of log, checkpoints if `total` exceeds `save_every`."""
    cuda = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(out / CHECKPOINTS),
        report_to="none",
        seed=seed,
        num_train_epochs=training.epochs,
        max_steps=training.steps or -1,
        per_device_train_batch_size=training.batch_size // processes(),
        gradient_accumulation_steps=training.accumulate,
        learning_rate=training.lr,
        max_grad_norm=training.clip,
        lr_scheduler_type="constant_with_warmup" if training.schedule == "constant" else "linear",
        warmup_steps=training.warmup,
        bf16=training.precision == "bf16",
        fp16=training.precision == "fp16",
        use_cpu=not cuda,
        dataloader_drop_last=True,
        dataloader_pin_memory=cuda,
        accelerator_config={"non_blocking": cuda},
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        ddp_broadcast_buffers=False,  # all processes compute the same ones, such as queues of vectors
        logging_steps=max(1, min(total // 50, training.save_every)),
        logging_first_step=True,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        log_level="error",
        log_level_replica="error",
        save_strategy="steps" if total > training.save_every else "no",
        save_steps=training.save_every,
        save_total_limit=2,  # the older one in case the newest is damaged
    )
    if arguments.n_gpu > 1:
        # Trainer would split each batch, and with it the negatives, among the GPUs.
        note(
            f"training on one of {arguments.n_gpu} GPUs: torchrun --nproc-per-node {arguments.n_gpu} uses all"
        )
        arguments._n_gpu = 1
    return arguments


def make_optimizer(objective: Objective) -> torch.optim.AdamW:
    """Return fused AdamW, each rate times the objective's factor; only `decay_all` decays biases and norms."""
    training = objective.settings
    groups: dict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            decay = training.weight_decay if training.decay_all or parameter.dim() > 1 else 0.0
            groups[decay, training.lr * objective.rate_of(name)].append(parameter)
    settings = [
        {"params": parameters, "weight_decay": decay, "lr": lr} for (decay, lr), parameters in groups.items()
    ]
    return torch.optim.AdamW(settings, lr=training.lr, eps=training.eps, fused=True)


class ObjectiveTrainer(Trainer):  # type: ignore[misc] # transformers is untyped here
    """A Trainer that logs the loss's parts and the geometry, scores on a development set, and stops at a bad loss."""

    def __init__(
        self,
        objective: Objective,
        rows: Rows,
        out: Path,
        seed: int,
        dev: "Task | None",
        start: Mapping[str, Tensor],
        *,
        resumed: bool,
    ) -> None:
        training = objective.settings
        arguments = training_arguments(training, out, seed, training.total_steps(len(rows)))
        arguments.eval_on_start = dev is not None and not resumed
        objective.to(arguments.device)
        if not resumed:
            torch.manual_seed(seed)  # the same in all processes
            objective.before_first_step(rows)
        super().__init__(
            objective,
            arguments,
            objective.collate,
            rows,
            optimizers=(make_optimizer(objective), None),
        )
        self.remove_callback(PrinterCallback)  # it prints raw dictionaries to stdout
        self.training, self.out, self.dev, self.start = training, out, dev, start
        self.order = Order(rows, seed, training.batch_size if training.group_by_length else None)
        self.parts: dict[str, Tensor] = {}
        self.vectors: Tensor | None = None
        self.batches, self.collapsed = 0, False

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Order:
        return self.order

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:  # noqa: ANN401
        """Return the objective's loss; sum its other parts, on the device, until they are logged."""
        outputs: dict[str, Tensor] = model(**inputs)
        loss = outputs.pop("loss")
        self.batches += 1
        self.vectors = outputs.pop("vectors", None)
        for name, part in outputs.items():
            self.parts[name] = self.parts.get(name, 0) + part.detach()
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the geometry, and the means of the loss's parts over batches and processes, to what Trainer logs."""
        step = self.state.global_step
        if "loss" in logs:
            if not math.isfinite(logs["loss"]):
                raise diverged(f"the loss became {logs['loss']}", step, self.training)
            metrics = {name: total / self.batches for name, total in self.parts.items()}
            if self.vectors is not None and len(self.vectors) > 2:
                metrics.update(geometry(self.vectors, paired=self.model.paired))
            self.parts, self.vectors, self.batches = {}, None, 0
            if metrics:
                means = summed(torch.stack([metric.float() for metric in metrics.values()])) / processes()
                logs.update(zip(metrics, means.tolist(), strict=True))
        super().log(logs, start_time)
        history = self.state.log_history
        if is_first():
            lines = [json.dumps(line, sort_keys=True) + "\n" for line in log_lines(history)]
            write_if_changed(self.out / LOG, "".join(lines))
        warning = collapse(history[-1], dev_scores(history).get(0))
        if warning is not None and not self.collapsed:
            self.collapsed = True
            note(
                f"warning: the encoder collapses: {warning} at step {step}; lower --lr or start from another encoder"
            )

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:  # noqa: ANN401 - Trainer's own
        """Score what would be saved now, in the first process for all.

        Keep the best weights, stop without patience.
        """
        encoder = self.model.encoder
        trained = copy.deepcopy(encoder.state_dict()) if self.start else {}
        blend_into(encoder, self.start, self.training.blend)
        score = score_on(self.dev, encoder, self.training, self.state.global_step)
        if trained:
            encoder.load_state_dict(trained)
        metrics = {} if score is None else {DEV: score}
        if metrics:
            self.log(dict(metrics))
            if self.training.keep == "best" and is_first():
                keep_best(self.out / CHECKPOINTS, self.model, self.state.log_history)
        self.control: TrainerControl = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        self.control.should_training_stop |= out_of_patience(self.training, self.state.log_history)
        return metrics


class StepCallback(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """What happens beside a trainer's steps: order, the objective's own step, the bar, and when to score and log."""

    def __init__(self, trainer: ObjectiveTrainer, advance: Callable[[int], None]) -> None:
        self.trainer, self.advance = trainer, advance

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Set the epoch of the rows, also when resuming within one."""
        self.trainer.train_dataset.epoch = int(state.epoch or 0)

    def on_optimizer_step(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Let the objective follow the optimiser's step, once a step however many batches it took."""
        self.trainer.model.after_step(state.global_step + 1, state.max_steps)

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Record the hashes of the checkpoint once all processes have written their parts."""
        of_first(None)
        if is_first():
            record_folder(self.trainer.out / CHECKPOINTS / f"checkpoint-{state.global_step}")

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Move the bar; score when due; log at each score and checkpoint, where the means start again."""
        self.advance(1)
        count = self.trainer.training.evaluations
        due = {max(1, round(state.max_steps * turn / count)) for turn in range(1, count + 1)}
        control.should_evaluate |= self.trainer.dev is not None and state.global_step in due
        control.should_log |= control.should_evaluate or control.should_save


def log_lines(history: History) -> list[dict[str, float]]:
    """Return one line for each step that logged a loss or a development score."""
    steps: dict[float, dict[str, float]] = defaultdict(dict)
    for entry in history:
        if "loss" in entry or DEV in entry:
            steps[entry["step"]].update(entry)
    return list(steps.values())


def collapse(entry: Mapping[str, float], start: float | None) -> str | None:
    """Return how a log's entry shows a collapse, None if it does not.

    `start` is the dev score before the training.
    """
    if entry.get("spread", 1.0) < COLLAPSED:
        return f"spread {entry['spread']:.3f} (0 = all sentences have one direction)"
    if start is not None and entry.get(DEV, start) < start - FALLEN:
        return f"dev score {entry[DEV]:.2f}, before the training it was {start:.2f}"
    return None
