"""From the name of a model to weights and a tokenizer that can be trained and sampled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpo_envs.errors import GrpoEnvsError

if TYPE_CHECKING:
    from trainers.embedded import Recipe
    from trainers.embedded.warmstart import Progress

__all__ = ["NAMED", "UnknownModel", "end_ids", "load", "load_tokenizer", "resolve_model"]

NAMED = ("embedded", "smollm2-135m")
"""Names that are neither folders nor Hub ids."""


class UnknownModel(GrpoEnvsError, ValueError):
    """Raised when there is no such model, or it cannot hold a conversation."""


def resolve_model(
    name: str,
    *,
    env_id: str | None = None,
    env_args: Mapping[str, Any] | None = None,
    recipe: Recipe | None = None,
    progress: Progress | None = None,
) -> str:
    """Return a folder or Hub id that `from_pretrained` reads, making or fetching what the name stands for.

    Args:
        name: "embedded", "smollm2-135m", a folder, or a Hub id.
        env_id: The environment, for "embedded".
        env_args: Its arguments.
        recipe: How "embedded" is made.
        progress: Called after each of its supervised steps.

    Raises:
        UnknownModel: If "embedded" is asked for without an environment, or a folder holds no model.
        MissingExtra: If a package is needed and cannot be had.
    """
    if name == "embedded":
        from trainers.embedded import embedded_policy

        if env_id is None:
            raise UnknownModel("the embedded policy is made for one environment; say which, with env_id")
        return str(embedded_policy(env_id, env_args, recipe=recipe, progress=progress))
    if name == "smollm2-135m":
        from trainers.smollm import smollm2_135m

        return str(smollm2_135m())
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise UnknownModel(f"the folder {name!r} holds no model: it has no config.json")
    if not folder.is_dir() and (name.count("/") != 1 or name.startswith((".", "/", "~"))):
        raise UnknownModel(f"no model {name!r}: it is neither {' nor '.join(NAMED)}, a folder, nor a Hub id OWNER/NAME")
    return name


def load(path: str, **options: Any) -> tuple[Any, Any]:
    """Load a model and its tokenizer, ready for conversations with tools.

    Args:
        path: Folder or Hub id.
        **options: For `AutoModelForCausalLM.from_pretrained`; weights are float32 on a CPU when no dtype is given.

    Raises:
        UnknownModel: If there is no model, or its chat template knows no tools.
    """
    import torch
    from transformers import AutoModelForCausalLM

    options.setdefault("dtype", "auto" if torch.cuda.is_available() else torch.float32)
    try:
        model = AutoModelForCausalLM.from_pretrained(path, **options)
    except (OSError, ValueError) as error:
        raise UnknownModel(f"{path!r} cannot be loaded: {str(error).splitlines()[0]}") from error
    return model, load_tokenizer(path)


def load_tokenizer(path: str) -> Any:
    """Load a tokenizer whose chat template can render tools.

    One whose template cannot, but which has the tokens of ChatML, is given Qwen2.5's.

    Raises:
        UnknownModel: If there is none, or its template cannot render a conversation with tools.
    """
    from transformers import AutoTokenizer
    from trl.chat_template_utils import supports_tool_calling

    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise UnknownModel(f"the tokenizer of {path!r} cannot be loaded: {str(error).splitlines()[0]}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if not supports_tool_calling(tokenizer):
        if "<|im_start|>" not in tokenizer.get_vocab():
            raise UnknownModel(
                f"the chat template of {path!r} cannot render tool calls; set tokenizer.chat_template to one that can, "
                "save the tokenizer beside the model, and name that folder"
            )
        tokenizer.chat_template = _chatml_with_tools()
    return tokenizer


def end_ids(model: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a turn: those of the model's generation settings, and the tokenizer's."""
    configured = model.generation_config.eos_token_id
    ids = configured if isinstance(configured, list) else [configured]
    return sorted({int(i) for i in (*ids, tokenizer.eos_token_id) if i is not None})


def _chatml_with_tools() -> str:
    """Return Qwen2.5's template as TRL ships it: TRL knows how to read replies to exactly that text."""
    import trl

    return (Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja").read_text(encoding="utf-8")
