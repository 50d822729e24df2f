"""Modules of PyTorch's in the form of layers: one input that flows through, others by name."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Last(nn.Module):
    """A recurrent network that gives the sequence, or the states in which its directions end."""

    def __init__(self, network: nn.Module, last: bool) -> None:
        super().__init__()
        self.network, self.last = network, last

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        if lengths is None:
            y, state = self.network(x)
        else:
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            y, state = self.network(packed)
            y = pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0]
        state = state[0] if isinstance(state, tuple) else state
        directions = 1 + self.network.bidirectional
        return torch.cat(list(state[-directions:]), dim=1) if self.last else y


class Attention(nn.Module):
    """Self-attention, or attention to a memory."""

    def __init__(self, network: nn.Module, causal: bool = False) -> None:
        super().__init__()
        self.network, self.causal = network, causal

    def forward(self, x: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
        memory = others.get("memory", x)
        mask = others.get("mask")
        if self.causal:
            mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return self.network(
            x,
            memory,
            others.get("values", memory),
            attn_mask=mask,
            key_padding_mask=others.get("padding"),
            need_weights=False,
        )[0]


class Encoder(nn.Module):
    """An encoder's layer, with masks."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
        return self.network(x, src_mask=others.get("mask"), src_key_padding_mask=others.get("padding"))


class Encoders(nn.Module):
    """A whole encoder, with masks."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
        return self.network(x, mask=others.get("mask"), src_key_padding_mask=others.get("padding"))


class Whole(nn.Module):
    """A transformer, each step of whose target attends to those up to it."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, target: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        mask = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool), 1)
        return self.network(x, target, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)


class Bag(nn.Module):
    """A bag of rows, each with a weight."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return self.network(x, per_sample_weights=weights)


class Parallel(nn.ModuleList):
    """Branches, joined."""

    def __init__(self, parts: list[nn.Module], join: str) -> None:
        super().__init__(parts)
        self.join = join

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branches = [part(x) for part in self]
        if self.join == "concat":
            return torch.cat(branches, dim=-1)
        together = torch.stack(branches)
        return {"sum": together.sum, "mean": together.mean, "product": together.prod}[self.join](0)


class Decoder(nn.Module):
    """A decoder's layer, each step of which attends to those up to it."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, memory: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        return self.network(x, memory, tgt_mask=mask, memory_key_padding_mask=others.get("padding"))


class Residual(nn.Module):
    """Layers, with their input added."""

    def __init__(self, parts: dict[str, nn.Module], projection: nn.Module | None = None) -> None:
        super().__init__()
        self.order = list(parts)
        for name, part in parts.items():
            self.add_module(name, part)
        self.projection = projection

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for name in self.order:
            y = getattr(self, name)(y)
        return y + (x if self.projection is None else self.projection(x))


class Positions(nn.Module):
    """Learnt rows, added to the steps."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(length, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.weight[: x.shape[1]]


class Two(nn.Module):
    """A bilinear layer, of one input twice or of two."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
        return self.network(x, others.get("other", x))
