"""A policy that runs a transformers model in this process."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpo_envs.policies.base import Reply, Request
from rewards.boundary import Failure, guard
from trainers.sampling import Drawn, sample

if TYPE_CHECKING:
    from grpo_envs.env import LanguageEnv
    from trainers.trl.tokens import Rendering

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

        "embedded" without an environment is made or loaded when the first request says which environment it is for.

        Args:
            model: "embedded", "smollm2-135m", a folder, a Hub id, or a model of transformers.
            tokenizer: Tokenizer of a model that is passed loaded.
            env_id: The environment whose embedded policy is meant; that of the first request, when omitted.
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
            self.name = name or f"transformers:{model}"
        else:
            self.name = name or f"transformers:{getattr(model.config, 'name_or_path', '') or type(model).__name__}"
        self._source, self._env_id, self._env_args = model, env_id, env_args
        self._model: Any = None if isinstance(model, str) else model
        self._tokenizer: Any = tokenizer
        self._rendering: Rendering | None = None
        self._temperature, self._max_tokens, self._max_batch = temperature, max_tokens, max_batch
        self._lock = threading.Lock()
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._sessions: weakref.WeakKeyDictionary[LanguageEnv, _Session] = weakref.WeakKeyDictionary()
        if model != "embedded" or env_id is not None:
            self._ready(None)

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
            requests = [request for request, _ in batch]
            replies = await asyncio.to_thread(guard, self.answer, requests)
            if isinstance(replies, Failure):
                for _, future in batch:
                    if not future.done():
                        future.set_exception(replies.error)
                continue
            for (_, future), reply in zip(batch, replies, strict=True):
                if not future.done():
                    future.set_result(reply)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer one batch of requests, in sync code."""
        with self._lock:
            rendering = self._ready(requests[0].env)
            prompts = [self._prompt(rendering, request) for request in requests]
            drawn = sample(
                self._model,
                prompts,
                end_ids=sorted(rendering.ends),
                max_new_tokens=self._max_tokens,
                temperature=self._temperature,
                seeds=[request.seed for request in requests],
                limit=getattr(self._model.config, "max_position_embeddings", None),
            )
            return [self._reply(rendering, *row) for row in zip(requests, prompts, drawn, strict=True)]

    def _ready(self, env: LanguageEnv | None) -> Rendering:
        """Load the model the first time."""
        if self._rendering is None:
            from trainers.models import end_ids, load, resolve_model
            from trainers.trl.tokens import Rendering

            if isinstance(self._source, str):
                env_id, env_args = self._env_id, self._env_args
                if env_id is None and env is not None and env.spec is not None:
                    env_id, env_args = env.spec.id, env.spec.kwargs
                path = resolve_model(self._source, env_id=env_id, env_args=env_args)
                self._model, self._tokenizer = load(path)
            self._rendering = Rendering(self._tokenizer, options={}, ends=end_ids(self._model, self._tokenizer))
        return self._rendering

    def _prompt(self, rendering: Rendering, request: Request) -> list[int]:
        session = self._sessions.get(request.env) if request.turn else None
        if session is None:
            return rendering.prompt(request.messages, request.tools)
        added = [m for m in request.messages[session.messages :] if m["role"] != "assistant"]
        # A turn that the limit cut has no end token of its own; the environment's part supplies it.
        end = [] if session.finished else [rendering.eos_token_id]
        return [*session.ids, *end, *rendering.suffix(added)]

    def _reply(self, rendering: Rendering, request: Request, prompt: list[int], drawn: Drawn) -> Reply:
        self._sessions[request.env] = _Session([*prompt, *drawn.ids], len(request.messages), drawn.finished)
        text = rendering.action(drawn.ids, prompt, request.tools)
        finish = "stop" if drawn.finished else "length"
        return Reply(text, drawn.ids, list(drawn.logprobs), prompt, finish)
