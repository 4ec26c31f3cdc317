from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.code.extraction import extract_code


@pytest.mark.parametrize(
    ("completion", "rule", "text"),
    [
        ("def f(): pass", "bare", "def f(): pass"),
        ("```python\nx = 1\n```", "block", "x = 1\n"),
        ("```\nx = 1\n```", "block", "x = 1\n"),
        ("~~~py\nx = 1\n~~~", "block", "x = 1\n"),
        ("a\n```python\nx = 1\n```\nb\n```python\nx = 2\n```", "block", "x = 2\n"),
        ("```python\nx = 1\n```\nOutput:\n```\n1\n```", "block", "x = 1\n"),
        ("```python\nx = 1\n```\n```bash\nls\n```", "block", "x = 1\n"),
        ("```python\nx = 1\n```\n```python\nx = 2", "block", "x = 1\n"),
        ("````python\ns = '''\n```\n'''\n````", "block", "s = '''\n```\n'''\n"),
        ("<think>```python\nx = 1\n```</think>```python\nx = 2\n```", "block", "x = 2\n"),
        ("```python\r\nx = 1\r\n```\r\n", "block", "x = 1\r\n"),
        ("```python\nx = 1", "none", ""),
        ("```bash\nls\n```", "none", ""),
        ("```python\n\n```", "none", ""),
        ("  \n", "none", ""),
        ("<think>```python\nx = 1\n```", "none", ""),
        ("x" * 200_001, "none", ""),
    ],
)
def test_the_last_closed_block_of_the_language_is_the_program(completion: str, rule: str, text: str) -> None:
    code = extract_code(completion)
    assert (code.rule, code.text) == (rule, text)
    assert code.found is (rule != "none")
    assert bool(code.reason) is (rule == "none")


def test_other_languages_have_tags_of_their_own() -> None:
    text = "```python\nx\n```\n```sql\nselect 1\n```\n```c++\nint x;\n```"
    assert extract_code(text, "sql").text == "select 1\n"
    assert extract_code(text, "cpp").text == "int x;\n"
    assert extract_code(text, "bash").reason == "there is no bash code block"


@given(st.text(alphabet="`~ \npython\r", max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    code = extract_code(text)
    assert code.found is not bool(code.reason)
