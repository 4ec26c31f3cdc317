"""Where task rows come from: JSONL files and Hugging Face datasets."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grpo_envs.errors import DatasetUnavailable, InvalidTask, MissingExtra
from rewards.boundary import Failure, guard

__all__ = ["hub_rows", "jsonl_rows"]


def jsonl_rows(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    """Read a JSONL file, gzipped if its name ends in .gz, as (line number from 1, row); blank lines are left out.

    Raises:
        InvalidTask: If a line is not a JSON object, or the file is no text; the message names the line.
        FileNotFoundError: If there is no such file.
    """
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidTask(f"line {number} of {path} is not JSON: {error.msg} at character {error.pos}") from error
        except (RecursionError, ValueError) as error:
            raise InvalidTask(f"line {number} of {path} cannot be read: {error}") from error
        if not isinstance(row, dict):
            raise InvalidTask(f"line {number} of {path} is not a JSON object; a row is an object, one a line")
        rows.append((number, row))
    return rows


def hub_rows(dataset: str, config: str | None, split: str, options: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Load a split of a Hugging Face dataset: one of the Hub, a local folder, or local files by a builder's name.

    Args:
        dataset: Name on the Hub, folder, or builder such as "json" or "parquet".
        config: Configuration of the dataset.
        split: Split of the dataset.
        options: Further arguments of `datasets.load_dataset`, such as `revision` and `data_files`.

    Raises:
        MissingExtra: If the `datasets` package is not installed.
        DatasetUnavailable: If the dataset cannot be loaded; the message says why.
    """
    try:
        datasets = importlib.import_module("datasets")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"loading the dataset {dataset!r} needs: pip install 'grpo-envs[train]'; a JSONL file needs nothing"
        ) from error
    rows = guard(datasets.load_dataset, dataset, config, split=split, **options)
    if isinstance(rows, Failure):
        raise DatasetUnavailable(
            f"dataset {dataset!r} (split {split!r}) cannot be loaded: {rows.detail}; check its name, config, split and "
            "the network, or save it as JSONL and use TaskSet.from_jsonl"
        ) from rows.error
    found: Sequence[Mapping[str, Any]] = rows
    return found


def _lines(path: Path) -> Iterator[str]:
    import gzip
    import zlib

    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        # A byte-order mark, as some editors write it, is no part of the first row.
        with opener(path, "rt", encoding="utf-8-sig") as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise InvalidTask(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidTask(f"{path} is not a whole gzip file: {error}; fetch it again, or drop the .gz") from error
