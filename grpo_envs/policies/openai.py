"""Any OpenAI-compatible chat endpoint as a policy."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grpo_envs.errors import PolicyFailed
from grpo_envs.policies.base import Reply, Request

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenAIPolicy"]

_log = logging.getLogger(__name__)
_RETRYABLE = {408, 409, 425, 429, 500, 502, 503, 504}
_MAX_WAIT_S = 30.0


class OpenAIPolicy:
    """Asks a chat completions endpoint, with retries and a limit on concurrent requests.

    The key is read from an environment variable and sent, never logged. A request that fails after its retries raises
    `PolicyFailed`, which makes the episode an infrastructure failure and not a wrong answer.
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
            timeout_s: Seconds one request may take.
            extra: Further fields of the request, such as `{"return_token_ids": true}` for vLLM.
        """
        self.name = f"openai:{model}"
        self._model = model
        self._url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._key_env = api_key_env
        self._options = {"temperature": temperature, "max_tokens": max_tokens, "logprobs": True, **(extra or {})}
        self._retries, self._timeout_s, self._concurrency = retries, timeout_s, concurrency
        self._client: httpx.AsyncClient | None = None
        self._slots: asyncio.Semaphore | None = None

    async def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask for every request at once, within the concurrency limit.

        Raises:
            PolicyFailed: If the endpoint refuses a request, or keeps failing.
        """
        return list(await asyncio.gather(*map(self._ask, requests)))

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connect(self) -> tuple[httpx.AsyncClient, asyncio.Semaphore]:
        import httpx

        if self._client is None or self._slots is None:
            key = os.environ.get(self._key_env, "")
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            limits = httpx.Limits(max_connections=self._concurrency)
            self._client = httpx.AsyncClient(
                base_url=self._url, headers=headers, timeout=self._timeout_s, limits=limits
            )
            self._slots = asyncio.Semaphore(self._concurrency)
        return self._client, self._slots

    async def _ask(self, request: Request) -> Reply:
        client, slots = self._connect()
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_outgoing(message) for message in request.messages],
            "seed": request.seed % 2**31,
            **self._options,
        }
        if request.tools:
            body["tools"] = [tool.to_openai() for tool in request.tools]
        async with slots:
            return _reply(await self._post(client, body))

    async def _post(self, client: httpx.AsyncClient, body: Mapping[str, Any]) -> Mapping[str, Any]:
        import httpx

        problem = ""
        for attempt in range(self._retries + 1):
            wait = min(_MAX_WAIT_S, 0.5 * 2**attempt) * (0.5 + random.random() / 2)
            try:
                response = await client.post("/chat/completions", json=body)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if response.is_success:
                    return _json(response)
                problem = f"HTTP {response.status_code}: {response.text[:200]}"
                if response.status_code not in _RETRYABLE:
                    break
                wait = _retry_after(response.headers.get("retry-after", ""), wait)
            if attempt < self._retries:
                _log.info("%s failed (%s); again in %.1f s", self._url, problem, wait)
                await asyncio.sleep(wait)
        raise PolicyFailed(f"{self._url} gave no answer: {problem}")


def _json(response: httpx.Response) -> Mapping[str, Any]:
    try:
        data: Mapping[str, Any] = response.json()
    except ValueError as error:
        raise PolicyFailed(f"{response.url} answered something that is not JSON") from error
    if not isinstance(data, dict) or not data.get("choices"):
        raise PolicyFailed(f"{response.url} answered without choices: {str(data)[:200]}")
    return data


def _retry_after(header: str, otherwise: float) -> float:
    try:
        return min(_MAX_WAIT_S, max(0.0, float(header)))
    except ValueError:
        return otherwise


def _outgoing(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as the API wants it: arguments of calls as JSON text."""
    if not message.get("tool_calls"):
        return dict(message)
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": json.dumps(call["function"]["arguments"])},
        }
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def _reply(data: Mapping[str, Any]) -> Reply:
    choice = data["choices"][0]
    message = choice.get("message", {})
    text = message.get("content") or ""
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        # The arguments are the model's own JSON text: kept as they are, so that broken ones are seen as broken.
        name, arguments = json.dumps(function.get("name")), function.get("arguments") or "{}"
        text += f'<tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>'
    logprobs = [item.get("logprob") for item in (choice.get("logprobs") or {}).get("content") or ()]
    ids = choice.get("token_ids")
    return Reply(
        text,
        token_ids=ids,
        logprobs=logprobs if ids is not None and len(logprobs) == len(ids) else None,
        prompt_token_ids=data.get("prompt_token_ids"),
        finish_reason=choice.get("finish_reason") or "stop",
    )
