"""Keeps the trainers' tests offline and quiet."""

from __future__ import annotations

import os

import torch

# Two threads on two cores that others use too are many times slower than one.
torch.set_num_threads(1)
for _name, _value in {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_DISABLED": "true",
}.items():
    os.environ.setdefault(_name, _value)
