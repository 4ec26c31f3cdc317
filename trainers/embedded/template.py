"""The embedded policy's chat template and the template that reads its replies back."""

from __future__ import annotations

from typing import Any

__all__ = ["CHAT_TEMPLATE", "END", "PAD", "RESPONSE_TEMPLATE", "ROLES", "as_call"]

END = "<|end|>"
PAD = "<|pad|>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>")

# A turn costs two tokens of frame, and a tool its name and argument names: a policy of a million parameters attends
# over a hundred tokens well and over a thousand badly. Every message renders the same whatever follows it, which TRL
# needs in order to append tool results to tokens that are already drawn.
CHAT_TEMPLATE = """\
{%- if tools or messages[0].role == 'system' -%}
<|system|>
{%- if messages[0].role == 'system' -%}{{ messages[0].content }}{%- endif -%}
{%- if tools -%}{{ ' Tools:' }}{%- for tool in tools -%}
{%- set f = tool.function if tool.function is defined else tool -%}
{{ ' ' + f.name + '(' + (f.parameters.properties | default({})).keys() | join(', ') + ')' }}
{%- endfor -%}{%- endif -%}
<|end|>
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'system' and loop.first -%}
{%- elif message.role == 'assistant' -%}
<|assistant|>{%- generation -%}{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
{%- set f = call.function if call.function is defined else call -%}
{{ '<tool_call>{"name": "' + f.name + '", "arguments": ' }}
{{- f.arguments if f.arguments is string else f.arguments | tojson }}{{ '}</tool_call>' }}
{%- endfor -%}<|end|>{%- endgeneration -%}
{%- else -%}
<|{{ message.role }}|>{{ message.content }}<|end|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""

RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|end\|>\s*", "content": "text"},
    },
}


def as_call(action: str) -> str:
    """Return an action as the assistant writes it: a bare JSON call inside its tags, anything else as it is.

    >>> as_call('{"name": "f", "arguments": {}}')
    '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    >>> as_call("42")
    '42'
    """
    bare = action.startswith("{") and '"name"' in action and "<tool_call>" not in action
    return f"<tool_call>{action}</tool_call>" if bare else action
