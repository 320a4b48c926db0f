"""Every attention that moves with events or is read by them, by the name that variants call it."""

from model.attention.base import Attention
from model.attention.dyrep import DyRepAttention
from model.attention.fixed import FixedAttention
from model.attention.learned import LearnedAttention

ATTENTIONS: dict[str, type[Attention]] = {
    "association": DyRepAttention,
    "random": FixedAttention,
    "learned": LearnedAttention,
}
