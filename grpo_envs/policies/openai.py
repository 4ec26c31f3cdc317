"""Any OpenAI-compatible chat endpoint as a policy."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from grpo_envs.errors import PolicyFailed
from grpo_envs.policies.base import Reply, Request
from grpo_envs.policies.chat import outgoing, reply_of
from rewards.boundary import Failure, guard_async
from rewards.errors import PolicyLimit

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenAIPolicy"]

_log = logging.getLogger(__name__)
_RETRYABLE = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_MAX_BACKOFF_S = 30.0
_MAX_RETRY_AFTER_S = 300.0
_TOO_LONG = re.compile(r"context.?(length|window|size)|maximum.{0,20}tokens|(prompt|input) is too long", re.I)


class OpenAIPolicy:
    """Asks a chat completions endpoint, with retries and a limit on concurrent requests.

    The key is read from an environment variable and sent, never logged. A request that fails after its retries is an
    infrastructure failure and not a wrong answer; a conversation that outgrew the model's context is the policy's own
    doing, and scores as `POLICY_LIMIT`.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float = 1.0,
        max_tokens: int = 1024,
        concurrency: int = 32,
        retries: int = 5,
        backoff_s: float = 0.5,
        timeout_s: float = 120.0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Describe the endpoint.

        Args:
            model: Name of the model.
            base_url: Address up to and including `/v1`; the variable OPENAI_BASE_URL, or OpenAI's own, when omitted.
            api_key_env: Variable that holds the key.
            temperature: Sampling temperature.
            max_tokens: Most tokens of one turn.
            concurrency: Most requests at once.
            retries: How often a request is repeated after 429, 5xx or a broken connection.
            backoff_s: Seconds before the first repetition, doubled each time, where the server does not say how long.
            timeout_s: Seconds one request may take.
            extra: Further fields of the request, such as `{"return_token_ids": true}` for vLLM; a field of None is
                left out, such as `{"logprobs": None}` for a server that refuses it.
        """
        self.name = f"openai:{model}"
        self._model = model
        self._url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._key_env = api_key_env
        self._options = {"temperature": temperature, "max_tokens": max_tokens, "logprobs": True, **(extra or {})}
        self._retries, self._backoff_s = retries, backoff_s
        self._timeout_s, self._concurrency = timeout_s, concurrency
        self._jitter = random.Random()
        self._client: httpx.AsyncClient | None = None
        self._slots = asyncio.Semaphore(concurrency)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def act(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        """Ask for every request at once, within the concurrency limit.

        Returns:
            For each request its reply, or a `Failure` if the endpoint refused it or kept failing.
        """
        return list(await asyncio.gather(*(guard_async(self._ask, request) for request in requests)))

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connect(self) -> httpx.AsyncClient:
        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            # Connections belong to the loop that opened them.
            self._loop, self._slots = loop, asyncio.Semaphore(self._concurrency)
            url = httpx.URL(self._url)
            self._client = httpx.AsyncClient(
                # httpx logs addresses: a password must not be in them.
                base_url=url.copy_with(userinfo=b""),
                auth=(url.username, url.password) if url.username else None,
                headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
                limits=httpx.Limits(max_connections=self._concurrency),
                timeout=None,
            )
        return self._client

    @property
    def _key(self) -> str:
        return os.environ.get(self._key_env, "")

    def _safe(self, text: str) -> str:
        """Return a text without the key, and without a password that the address may hold."""
        text = text.replace(self._key, "***") if self._key else text
        return re.sub(r"//[^/@\s]*@", "//***@", text)

    async def _ask(self, request: Request) -> Reply:
        client = self._connect()
        body: dict[str, Any] = {
            "model": self._model,
            "messages": outgoing(request.messages),
            "seed": request.seed % 2**31,
            "tools": [tool.to_openai() for tool in request.tools] or None,
            **self._options,
        }
        body = {name: value for name, value in body.items() if value is not None}
        async with self._slots:
            return reply_of(await self._post(client, body, request.turn))

    async def _post(self, client: httpx.AsyncClient, body: Mapping[str, Any], turn: int) -> Any:
        import httpx

        problem = ""
        for attempt in range(self._retries + 1):
            wait = min(_MAX_BACKOFF_S, self._backoff_s * 2**attempt) * (0.5 + self._jitter.random() / 2)
            try:
                # One limit on the whole request: a server that dribbles would meet httpx's own limit for ever.
                async with asyncio.timeout(self._timeout_s):
                    response = await client.post("/chat/completions", json=body)
            except httpx.UnsupportedProtocol as error:
                problem = str(error)
                break
            except (httpx.RequestError, TimeoutError) as error:
                problem = f"{type(error).__name__}: {error or f'no answer within {self._timeout_s:g} s'}"
            else:
                if response.is_success:
                    return _json(response)
                problem = f"HTTP {response.status_code}: {response.text[:300]}"
                if response.status_code not in _RETRYABLE:
                    if turn and _TOO_LONG.search(problem):
                        raise PolicyLimit(self._safe(f"the conversation outgrew the model's context: {problem}"))
                    break
                wait = _retry_after(response.headers.get("retry-after", ""), wait)
            if attempt < self._retries:
                _log.info("%s", self._safe(f"{self._url} failed ({problem}); again in {wait:.1f} s"))
                await asyncio.sleep(wait)
        raise PolicyFailed(self._safe(f"{self._url} gave no answer: {problem}"))


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise PolicyFailed(f"the endpoint answered something that is not JSON: {response.text[:100]!r}") from error


def _retry_after(header: str, otherwise: float) -> float:
    """Return the seconds that a `Retry-After` header asks for, in either of its two forms (RFC 9110, 10.2.3).

    >>> _retry_after("7", 1.0), _retry_after("soon", 1.0), _retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1.0)
    (7.0, 1.0, 0.0)
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return otherwise
    return min(_MAX_RETRY_AFTER_S, max(0.0, seconds))
