"""A policy that runs a transformers model in this process."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpo_envs.policies.base import Reply, Request
from trainers.chat import prompt_ids, suffix_ids
from trainers.sampling import Drawn, sample

if TYPE_CHECKING:
    from grpo_envs.env import LanguageEnv

__all__ = ["TransformersPolicy"]


@dataclass(slots=True)
class _Session:
    """The exact tokens of one episode so far, and how many of its messages they cover."""

    ids: list[int]
    messages: int
    finished: bool


class TransformersPolicy:
    """Answers conversations with a local model, batch by batch.

    Tokens in, tokens out: a later turn's prompt is the very tokens of the turns before it plus what the environment
    added, never text tokenised again. Requests that arrive while the model is busy share its next batch.
    """

    def __init__(
        self,
        model: str | Any = "embedded",
        tokenizer: Any = None,
        *,
        env_id: str | None = None,
        env_args: Mapping[str, Any] | None = None,
        temperature: float = 1.0,
        max_tokens: int = 256,
        max_batch: int = 128,
        name: str | None = None,
    ) -> None:
        """Load the model, or take one that is loaded.

        Args:
            model: "embedded", "smollm2-135m", a folder, a Hub id, or a model of transformers.
            tokenizer: Tokenizer of a model that is passed loaded.
            env_id: The environment whose embedded policy is meant.
            env_args: Its arguments.
            temperature: 0 decodes greedily.
            max_tokens: Most tokens of one turn.
            max_batch: Most conversations at once.
            name: What it is called in traces; the model's name when omitted.

        Raises:
            UnknownModel: If there is no such model.
            MissingExtra: If it needs a package that is not installed.
        """
        if isinstance(model, str):
            from trainers.models import load, resolve_model

            self.name = name or f"transformers:{model}"
            model, tokenizer = load(resolve_model(model, env_id=env_id, env_args=env_args))
        else:
            self.name = name or f"transformers:{getattr(model.config, 'name_or_path', '') or type(model).__name__}"
        self._model, self._tokenizer = model, tokenizer
        self._temperature, self._max_tokens, self._max_batch = temperature, max_tokens, max_batch
        self._lock = threading.Lock()
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._sessions: weakref.WeakKeyDictionary[LanguageEnv, _Session] = weakref.WeakKeyDictionary()

    async def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order."""
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Reply]] = [loop.create_future() for _ in requests]
        self._waiting += zip(requests, futures, strict=True)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return list(await asyncio.gather(*futures))

    async def aclose(self) -> None:
        """Forget the conversations."""
        self._sessions.clear()

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._max_batch], self._waiting[self._max_batch :]
            try:
                replies = await asyncio.to_thread(self.answer, [request for request, _ in batch])
            except (RuntimeError, ValueError, IndexError, TypeError, KeyError) as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), reply in zip(batch, replies, strict=True):
                if not future.done():
                    future.set_result(reply)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer one batch of requests, in sync code."""
        with self._lock:
            prompts = [self._prompt(request) for request in requests]
            drawn = sample(
                self._model,
                prompts,
                end_ids=self._end_ids,
                max_new_tokens=self._max_tokens,
                temperature=self._temperature,
                seeds=[request.seed for request in requests],
                limit=getattr(self._model.config, "max_position_embeddings", None),
            )
            return [self._reply(*row) for row in zip(requests, prompts, drawn, strict=True)]

    @property
    def _end_ids(self) -> list[int]:
        configured = self._model.generation_config.eos_token_id
        ids = configured if isinstance(configured, list) else [configured]
        return [i for i in {*ids, self._tokenizer.eos_token_id} if i is not None]

    def _prompt(self, request: Request) -> list[int]:
        session = self._sessions.get(request.env) if request.turn else None
        if session is None:
            return prompt_ids(self._tokenizer, request.messages, request.tools)
        added = [m for m in request.messages[session.messages :] if m["role"] != "assistant"]
        # A turn that the limit cut has no end token of its own; the environment's part supplies it.
        end = [] if session.finished else [int(self._tokenizer.eos_token_id)]
        return [*session.ids, *end, *suffix_ids(self._tokenizer, added)]

    def _reply(self, request: Request, prompt: list[int], drawn: Drawn) -> Reply:
        ids = [*prompt, *drawn.ids]
        self._sessions[request.env] = _Session(ids, len(request.messages), drawn.finished)
        text = self._tokenizer.decode(drawn.ids, skip_special_tokens=True)
        finish = "stop" if drawn.finished else "length"
        return Reply(text, drawn.ids, list(drawn.logprobs), prompt, finish)
