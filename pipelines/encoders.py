"""Where encoders are found, for those who train on what is made here: names, the cache and the Hub."""

from augment.models.device import quiet_transformers
from augment.models.loading import check_length, check_weights, fault
from augment.models.weights import HUB_NAMES, MINILM, Unreachable, cached_snapshot, hub_offer, installed_encoder

__all__ = ["HUB_NAMES", "MINILM", "Unreachable", "cached_snapshot", "check_length", "check_weights", "fault"]
__all__ += ["hub_offer", "installed_encoder", "quiet_transformers"]
