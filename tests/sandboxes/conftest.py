"""Sandboxes that are started once and shared: starting one costs more than most tests."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sandboxes
from sandboxes.backends.namespace import NamespaceSandbox
from sandboxes.errors import BackendUnavailable


@pytest.fixture(scope="session")
def namespace() -> Iterator[NamespaceSandbox]:
    """The default backend, bare: without the pool, so that what it says is seen."""
    try:
        sandbox = NamespaceSandbox()
    except BackendUnavailable as error:
        pytest.skip(f"the namespace backend cannot start here: {error}")
    yield sandbox
    sandbox.close_now()


@pytest.fixture(scope="session")
def pool() -> Iterator[sandboxes.Pool]:
    """The default backend as users get it."""
    try:
        pool = sandboxes.make("namespace")
    except BackendUnavailable as error:
        pytest.skip(f"the namespace backend cannot start here: {error}")
    yield pool
    pool.close_now()


@pytest.fixture(scope="session")
def docker_options() -> Iterator[dict[str, Any]]:
    """A container engine with the image, the machine's or one of our own."""
    engine = _load(Path(__file__).with_name("engine.py"))
    context = engine.engine()
    try:
        options = context.__enter__()
    except engine.NoEngine as error:
        pytest.skip(f"the docker backend cannot start here: {error}")
    yield options
    context.__exit__(None, None, None)


@pytest.fixture(scope="session", params=["namespace", "bwrap", "docker"])
def isolated(request: pytest.FixtureRequest) -> Iterator[sandboxes.Pool]:
    """Each backend that isolates programs, as users get it."""
    options = request.getfixturevalue("docker_options") if request.param == "docker" else {}
    try:
        pool = sandboxes.make(request.param, **options)
    except BackendUnavailable as error:
        pytest.skip(f"the {request.param} backend cannot start here: {error}")
    yield pool
    pool.close_now()


@pytest.fixture(scope="session")
def attack_programs() -> Any:
    """The table of the attack benchmark."""
    return _load(Path(__file__).parents[2] / "benchmarks" / "_attack_programs.py")


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
