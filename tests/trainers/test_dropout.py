from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import AutoConfig, AutoModel, XLMConfig, XLMModel

from pipelines.base.console import InputError
from trainers.encoders.modules import set_dropout
from trainers.networks.mirror import head_weights, set_drophead

KINDS = ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "modernbert", "mpnet", "albert")
SIZES = {"vocab_size": 40, "hidden_size": 16, "embedding_size": 16, "intermediate_size": 24, "hidden_dim": 24}
DEPTH = {"num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 40}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
# MPNet has one attention of its own.
CASES = [(kind, way) for kind in KINDS for way in ("sdpa", "eager") if (kind, way) != ("mpnet", "sdpa")]


def make(kind: str, attention: str = "sdpa") -> nn.Module:
    torch.manual_seed(1)
    config = AutoConfig.for_model(kind, **SIZES, **DEPTH, **SPECIAL)
    model = AutoModel.from_config(config, attn_implementation="eager" if kind == "mpnet" else attention)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    return model


IDS = torch.randint(5, 40, (6, 7), generator=torch.Generator().manual_seed(2))
MASK = (torch.arange(7) < torch.tensor([7, 7, 5, 4, 7, 3])[:, None]).long()


def encode(model: nn.Module, *, train: bool, seed: int = 3) -> Tensor:
    torch.manual_seed(seed)
    hidden: Tensor = model.train(train)(input_ids=IDS, attention_mask=MASK).last_hidden_state
    return hidden


class Dropouts(TorchFunctionMode):
    """Notes the rate of every dropout that is really computed."""

    def __init__(self) -> None:
        self.rates: list[tuple[str, float]] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func is functional.dropout:
            self.rates.append(("dropout", kwargs.get("p", args[1] if len(args) > 1 else None)))
        elif func is functional.scaled_dot_product_attention:
            self.rates.append(("attention", kwargs["dropout_p"]))
        return result


@pytest.mark.parametrize(("kind", "attention"), CASES)
def test_every_dropout_gets_the_rate(kind: str, attention: str) -> None:
    model = make(kind, attention)
    set_dropout(model, 0.35)
    with Dropouts() as seen:
        high = encode(model, train=True)
    assert {rate for _, rate in seen.rates} == {0.35}
    layers = 2
    # Attention and at least one more in each layer, and the embeddings.
    assert len(seen.rates) >= 2 * layers + 1
    if attention == "sdpa":
        assert [where for where, _ in seen.rates].count("attention") == layers
    plain = encode(model, train=False)
    assert not torch.allclose(high, plain, atol=1e-2)
    set_dropout(model, 0.0)
    torch.testing.assert_close(encode(model, train=True), plain, rtol=0, atol=1e-5)


def head_outputs(model: nn.Module) -> list[Tensor]:
    """What every attention's output projection takes in a training pass: (rows, tokens, heads, width)."""
    ends = ("attention.output.dense", "attn.Wo", "attn.o", "attention.out_lin", "attention.dense")
    seen: list[Tensor] = []
    handles = [
        module.register_forward_hook(
            lambda _, inputs, __: seen.append(inputs[0].detach().unflatten(-1, (4, -1)))
        )
        for name, module in model.named_modules()
        if name.endswith(ends)
    ]
    encode(model, train=True)
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_drophead_zeroes_whole_heads_and_scales_the_rest(kind: str) -> None:
    model = make(kind)
    set_dropout(model, 0.0)
    plain, plain_heads = encode(model, train=True), head_outputs(model)
    set_drophead(model, 0.5)
    dropped_heads = head_outputs(model)
    assert len(dropped_heads) == 2
    # Only the first layer's heads had the same input in both passes.
    ratio = dropped_heads[0] / plain_heads[0]
    of_head = ratio.mean(dim=(1, 3))
    torch.testing.assert_close(ratio, of_head[:, None, :, None].expand_as(ratio), rtol=1e-4, atol=1e-5)
    kept = of_head != 0
    scale = kept * (4 / kept.sum(dim=1, keepdim=True))
    torch.testing.assert_close(of_head, scale, rtol=1e-4, atol=1e-5)
    assert not kept.all()
    assert (kept != kept[0]).any(), "each sentence draws its own heads"
    torch.testing.assert_close(encode(model, train=False), plain, rtol=0, atol=1e-5)
    assert torch.equal(encode(model, train=True, seed=8), encode(model, train=True, seed=8))
    assert not torch.equal(encode(model, train=True, seed=8), encode(model, train=True, seed=9))


def test_heads_keep_their_expected_weight_and_never_all_go() -> None:
    torch.manual_seed(4)
    for rate in (0.05, 0.2, 0.9):
        weights = head_weights(40_000, 6, rate, torch.device("cpu"))
        torch.testing.assert_close(weights.sum(dim=1), torch.full((40_000,), 6.0))
        torch.testing.assert_close(weights.mean(dim=0), torch.ones(6), rtol=0, atol=0.06)
        dropped = (weights == 0).float().mean().item()
        # If all six are drawn, one is kept.
        assert dropped == pytest.approx(rate - rate**6 / 6, abs=0.01)


def test_unknown_attention_is_refused_in_one_line() -> None:
    model = XLMModel(XLMConfig(vocab_size=40, emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=40))
    with pytest.raises(InputError, match="XLMModel are not known"):
        set_drophead(model, 0.2)
    set_drophead(model, 0.0)
