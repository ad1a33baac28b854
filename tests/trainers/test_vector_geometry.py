import numpy as np
import pytest
import torch

from trainers.losses import MOST, geometry, spread


def plain(vectors: np.ndarray, *, paired: bool) -> dict[str, float]:
    """The definitions, pair by pair."""
    count, half = len(vectors), len(vectors) // 2
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    apart = [(i, j) for i in range(count) for j in range(count) if i != j and not (paired and abs(i - j) == half)]
    found = {
        "spread": np.sqrt(1 - np.linalg.norm(unit.mean(axis=0)) ** 2),
        "uniformity": np.log(np.mean([np.exp(-2 * np.sum((unit[i] - unit[j]) ** 2)) for i, j in apart])),
        "random_cosine": np.mean([unit[i] @ unit[j] for i, j in apart]),
    }
    if paired:
        found["alignment"] = np.mean([np.sum((unit[i] - unit[half + i]) ** 2) for i in range(half)])
    _, eigenvectors = np.linalg.eigh(unit.T @ unit)
    sums = [sum(np.exp(sign * c @ v) for v in unit) for c in eigenvectors.T for sign in (1, -1)]
    found["isotropy"] = min(sums) / max(sums)
    return found


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("shape", [(24, 6), (8, 20), (6, 6)], ids=["more rows", "more dimensions", "square"])
def test_geometry_is_what_its_definitions_say(shape: tuple[int, int], paired: bool) -> None:
    vectors = np.random.default_rng(1).normal(loc=0.4, size=shape)
    found = geometry(torch.tensor(vectors, dtype=torch.float32), paired=paired)
    expected = plain(vectors, paired=paired)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value, abs=2e-5), name


def test_of_a_large_batch_both_views_of_the_first_pairs_are_looked_at() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(MOST + 50, 4, generator=generator), torch.randn(MOST + 50, 4, generator=generator)
    some = geometry(torch.cat([first[:MOST], second[:MOST]]), paired=True)
    found = geometry(torch.cat([first, second]), paired=True)
    assert found.pop("spread") == spread(torch.cat([first, second])) != some.pop("spread")
    assert found == some
