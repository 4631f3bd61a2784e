"""A network of its own: plain PyTorch, none of paperlib, trained to hold an angle.

An angle is shown for a few steps as a point on the unit circle, then nothing; after a delay of
random length a go signal asks for the point. Writes beside this file what `paperlib diagnose`
reads: a state dict and held-out trials. Takes about a minute::

    python examples/angle_memory.py
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

HERE = Path(__file__).parent
SHOWN, LONGEST, ANSWER, HIDDEN = 5, 25, 8, 48  # steps, steps, steps, units


class Memory(nn.Module):
    """A recurrent layer and a linear readout, as in many labs' code."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, HIDDEN, batch_first=True)
        self.readout = nn.Linear(HIDDEN, 2)

    def forward(self, inputs):
        """Outputs, shape (trial, time, 2)."""
        return self.readout(self.rnn(inputs)[0])


def trials(n: int, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """Inputs (x, y, go), targets (x, y), and which steps count, each (trial, time, channel)."""
    angle = 2 * torch.pi * torch.rand(n, 1, generator=generator)
    point = torch.stack([angle.cos(), angle.sin()], dim=-1)
    go = SHOWN + torch.randint(5, LONGEST + 1, (n, 1), generator=generator)
    step = torch.arange(SHOWN + LONGEST + ANSWER)
    asked = ((step >= go) & (step < go + ANSWER)).float()[..., None]
    shown = (step < SHOWN).float()[None, :, None]
    inputs = torch.cat([point * shown, asked], dim=-1)
    return inputs, point * asked, ((step < go + ANSWER).float()[..., None]).expand(-1, -1, 2)


def main() -> None:
    """Train, and write weights and held-out trials."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Memory()
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(4000):
        inputs, targets, counts = trials(64, generator)
        loss = (counts * (model(inputs) - targets) ** 2).sum() / counts.sum()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 500 == 0:
            print(f"batch {step}: loss {loss:.4f}")
    torch.save(model.state_dict(), HERE / "angle_memory.pt")
    inputs, targets, counts = (x.numpy() for x in trials(400, generator))
    np.savez_compressed(
        HERE / "angle_memory.npz", inputs=inputs, targets=targets, mask=counts.astype(bool)
    )


if __name__ == "__main__":
    main()
