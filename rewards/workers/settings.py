"""What the processes of one pool have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a pool's processes are made.

    Attributes:
        name: Name of the pool.
        size: Workers to keep.
        queue_size: Most tasks waiting.
        memory_bytes: How far a worker's address space may grow; 0 for no cap.
        preload: Modules that the template imports.
        environment: Variables added to the template's environment.
        recycle_after: Tasks after which a worker is replaced.
    """

    name: str
    size: int
    queue_size: int
    memory_bytes: int
    preload: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    recycle_after: int = 5_000
