from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
import torch
from objective_cases import batch_of, build, pairs

from pipelines.console import InputError
from trainers.encoders.modules import set_dropout


@pytest.mark.parametrize("preset", ["listmle", "listnet"])
@pytest.mark.parametrize("shares", [[1.0], [1 / 3, 2 / 3], [0.8, 0.2]])
def test_loss_equals_the_equation_in_numpy(
    preset: str, shares: list[float], tiny_bert: Path, bare_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    teachers = (str(tiny_bert), str(bare_bert))[: len(shares)]
    objective = build("rank", tiny_bert, preset, teacher=teachers, first_share=shares[0]).train()
    set_dropout(objective, 0.0)
    outputs = objective(**batch_of(objective, pairs(sentences[:8], sentences[8:16]), folder=tmp_path))
    taught = [np.array(vectors, dtype=float) for vectors in objective.taught]
    compared = objective.head(outputs["vectors"]).detach().double().numpy()
    expected = reference.rank(compared, taught, shares, preset, 0.05)
    assert outputs["loss"].item() == pytest.approx(expected, rel=1e-5)
    parts = outputs["contrast"] + outputs["consistency"] + outputs["ranking"]
    torch.testing.assert_close(outputs["loss"].detach(), parts)


@pytest.mark.parametrize(
    ("given", "said"), [({}, "field required"), ({"teacher": ("a", "b", "c")}, "should have at most 2 items")]
)
def test_one_teacher_or_two_must_be_given(given: dict[str, object], said: str, tiny_bert: Path) -> None:
    with pytest.raises(InputError, match=f"--teacher.*: .*{said}"):
        build("rank", tiny_bert, **given)
