"""Where encoders are found, for those who train on what is made here: names, the cache and the Hub."""

from augment.models.loading import check_length as check_length
from augment.models.loading import check_weights as check_weights
from augment.models.loading import fault as fault
from augment.models.weights import HUB_NAMES as HUB_NAMES
from augment.models.weights import MINILM as MINILM
from augment.models.weights import Unreachable as Unreachable
from augment.models.weights import cached_snapshot as cached_snapshot
from augment.models.weights import hub_offer as hub_offer
from augment.models.weights import installed_encoder as installed_encoder
