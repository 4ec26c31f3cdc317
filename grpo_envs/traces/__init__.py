"""Traces of episodes: schema, writer and reader."""

from __future__ import annotations

from grpo_envs.traces.files import CorruptTrace, TraceWriter, read_traces
from grpo_envs.traces.schema import Tokens, ToolUseRecord, Trace, TurnRecord, turn_record

__all__ = [
    "CorruptTrace",
    "Tokens",
    "ToolUseRecord",
    "Trace",
    "TraceWriter",
    "TurnRecord",
    "read_traces",
    "turn_record",
]
