"""Code rewards: run what the policy wrote in a sandbox, judge its results outside."""

from __future__ import annotations

from rewards.code.asserts import AssertProblem
from rewards.code.classes import ClassCase, ClassProblem
from rewards.code.commands import CommandCase, CommandProblem
from rewards.code.compare import Comparison, equal
from rewards.code.extraction import Code, extract_code
from rewards.code.functions import FunctionCase, FunctionProblem
from rewards.code.judging import judge, judge_async, judge_problem
from rewards.code.problem import Problem, Runtime
from rewards.code.reward import CodeReward
from rewards.code.rows import problem_of
from rewards.code.sql import SqlCase, SqlProblem
from rewards.code.stdio import StdioCase, StdioProblem
from rewards.code.unit_tests import UnitTestProblem

__all__ = [
    "AssertProblem",
    "ClassCase",
    "ClassProblem",
    "Code",
    "CodeReward",
    "CommandCase",
    "CommandProblem",
    "Comparison",
    "FunctionCase",
    "FunctionProblem",
    "Problem",
    "Runtime",
    "SqlCase",
    "SqlProblem",
    "StdioCase",
    "StdioProblem",
    "UnitTestProblem",
    "equal",
    "extract_code",
    "judge",
    "judge_async",
    "judge_problem",
    "problem_of",
]
