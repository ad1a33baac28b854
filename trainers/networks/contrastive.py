"""What contrastive learning trains: an encoder, perhaps beside a guide or itself as it was."""

import copy
import math
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from pipelines.base.console import InputError, counted, note
from trainers.data.examples import Columns, Examples, number_texts
from trainers.encoders.linear import has_dense
from trainers.encoders.model import load_model, starting_model
from trainers.encoders.modules import Encoder, add_layer, width_of
from trainers.losses import closer_than_positive, contrast, equal_strings, moved_cosines, same_label
from trainers.networks.taught import Taught
from trainers.objective import float32
from trainers.processes import gather, gather_pairs

STAND_IN = "-"  # embedded for a missing hard negative, so that all batches have one shape; nothing is compared with it


class Contrastive(Taught):
    """One encoder; each view of a sentence is told from all others of the batch (SimCSE: arXiv:2104.08821)."""

    role = "guide"

    def add_helpers(self) -> None:
        """Add a head that is trained or saved, and the guide: another encoder, or this one as it is now."""
        encoder, params = self.encoder, self.params
        is_held = bool(params.retain or params.relate)
        others = [params.guide, params.keep_head, self.settings.begins_linear, params.retain and params.relate]
        if is_held and any(others):
            raise InputError(
                "--retain and --relate: the encoder as it is now is the guide: "
                "give one of them, without --guide, --keep-head, --whiten and --sharpen"
            )
        if params.keep_head and not has_dense(encoder):
            from sentence_transformers.sentence_transformer.modules import Dense

            linear: Any = train_only_head(encoder, width_of(encoder))[0]
            width = linear.out_features
            weights = linear.weight.detach(), linear.bias.detach()
            add_layer(encoder, Dense(width, width, True, nn.Tanh(), *weights))
        if is_held:
            self.teacher = starting_model(copy.deepcopy(encoder), self.source, self.max_tokens)
            self.role = "start"
        elif params.guide is not None:
            self.teacher = load_model(params.guide)
        self.hard_negatives = 0  # columns of them
        self.head = train_only_head(encoder, self.dimension) if params.head else nn.Identity()

    def columns(self, examples: Examples) -> Columns:
        """The ids of views and k negatives, the `keys` (n, 3 + k), and the guide's texts, if it can find any.

        A key is the number of a row's source, left or right string or negative, -1 for a missing one.
        """
        if self.params.twice:
            examples = replace(examples, left=examples.texts, right=examples.texts)
        if self.params.guide is not None and all(map(str.__eq__, examples.left, examples.right)):
            raise InputError(
                "--guide finds nothing where both views of every row are the same: use two (--no-twice)"
            )
        sides = list(super().columns(examples).sides)
        texts = [examples.left, examples.right]
        if self.params.needs_negatives and not any(map(any, examples.negatives)):
            raise InputError(
                "no pair has a hard negative, which this preset trains on: "
                "build them with --negative-view contradiction, or --pairs entailment --negatives"
            )
        self.hard_negatives = len(examples.negatives)
        for column in examples.negatives:
            texts.append([text or STAND_IN for text in column])
            sides.append(self.tokenize(texts[-1], column="negative"))
        values = {"keys": number_texts(examples.columns())[1]}
        if self.params.reads_labels():
            labels = examples.known_labels()
            values["labels"] = number_texts([labels])[1].ravel()
            count = counted(len({*filter(None, labels)}), "label")
            note(f"{count}: rows of one label are positives of each other")
        elif examples.classes and all(examples.classes):
            note(
                "all pairs have labels, which are not used: --preset labels makes rows of one label positives"
            )
        if self.teacher is not None:
            self.texts, values["taught"] = number_texts(texts[:2] if self.params.relate else texts)
        return Columns(tuple(sides), values)

    def chance_loss(self) -> float | None:
        """Return the logarithm of how many texts an anchor is compared with, None if the loss is of more."""
        if self.hard_negatives or self.params.retain or self.params.relate:
            return None
        size = self.settings.batch_size
        return math.log(size if self.params.negatives == "right" else 2 * size - 1)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        keys: Tensor,
        taught: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """The mean cross-entropy in nats per anchor and the encoder's vectors (2n, d), without the head.

        The ids ((2 + k)n, tokens) are those of first views, second views and k negatives, `taught` (n, 2 + k,
        d) the guide's vectors of the same texts. Texts with the same label (`labels` (n,), -1 for none) are
        further positives. `retain` or `relate` times `moved` is added: the mean of `1 - cos(v, v at the
        start)`, or `moved_cosines`.
        """
        vectors = gather_pairs(self.embed(input_ids, attention_mask), len(input_ids) // len(keys))
        keys = gather(keys)
        labels = None if labels is None else gather(labels)
        guide = None if taught is None else gather(taught).transpose(0, 1).flatten(0, 1)
        pairs = 2 * len(keys)
        views = vectors[:pairs]
        with float32(vectors.device):
            outputs = self.head(vectors)
            loss = contrast(
                outputs[:pairs],
                self.params.temperature,
                self._excluded(keys, guide, labels),
                outputs[pairs:],
                one_sided=self.params.negatives == "right",
                positives=None if labels is None else same_label(keys, labels),
            )
            weight = self.params.retain or self.params.relate
            if guide is None or not weight:
                return {"loss": loss, "vectors": views.detach()}
            if self.params.retain:
                distance = (1 - nn.functional.cosine_similarity(views, guide[:pairs], dim=-1)).mean()
            else:
                distance = moved_cosines(views, guide[:pairs])
            parts = {"contrast": loss.detach(), "moved": distance.detach()}
            return {"loss": loss + weight * distance, **parts, "vectors": views.detach()}

    def _excluded(self, keys: Tensor, guide: Tensor | None, labels: Tensor | None) -> Tensor:
        """(2n, 2n + kn), true for what is no negative of an anchor: equal strings, and what the guide finds.

        That is a text that it finds more like the anchor than its positive, an own hard negative too if a
        guide is named (GISTEmbed), but none with another label.
        """
        excluded, pairs = equal_strings(keys), 2 * len(keys)
        if guide is None or self.params.relate:
            return excluded
        closer = closer_than_positive(guide[:pairs], guide[pairs:], keep_own=self.params.guide is None)
        if labels is not None:
            closer[:, :pairs] &= ((labels < 0)[:, None] | (labels < 0)).repeat(2, 2)
        return excluded | closer


def train_only_head(encoder: Encoder, dimension: int) -> nn.Sequential:
    """Return SimCSE's head, d -> d and tanh, initialised like the encoder's own layers."""
    linear = nn.Linear(dimension, dimension)
    nn.init.normal_(linear.weight, std=getattr(encoder[0].model.config, "initializer_range", 0.02))
    nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh())
