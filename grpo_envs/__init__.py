"""Gymnasium environments for GRPO: text in, text out, and a reward that never lies.

Importing this package registers the built-in environments; nothing heavy is loaded until one is made.
"""

from __future__ import annotations

from grpo_envs.actions import Answer, Calls, call_text, parse_action
from grpo_envs.builtins import register_builtins
from grpo_envs.env import LanguageEnv
from grpo_envs.registration import EnvInfo, env_ids, env_info, failed_entry_points, make, register
from grpo_envs.snapshots import Snapshot
from grpo_envs.spaces import UnicodeText
from grpo_envs.tasks import Task, TaskSet
from grpo_envs.tools import ToolCall, ToolSpec, tool

__all__ = [
    "Answer",
    "Calls",
    "EnvInfo",
    "LanguageEnv",
    "Snapshot",
    "Task",
    "TaskSet",
    "ToolCall",
    "ToolSpec",
    "UnicodeText",
    "call_text",
    "env_ids",
    "env_info",
    "failed_entry_points",
    "make",
    "parse_action",
    "register",
    "tool",
]

__version__ = "0.1.0"

register_builtins()
