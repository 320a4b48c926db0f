"""The registry of attention classes by the names used in variants."""

from model.attention.base import Attention
from model.attention.dyrep import DyRepAttention
from model.attention.fixed import FixedAttention
from model.attention.learned import LearnedAttention

ATTENTIONS: dict[str, type[Attention]] = {
    "association": DyRepAttention,
    "random": FixedAttention,
    "learned": LearnedAttention,
}
