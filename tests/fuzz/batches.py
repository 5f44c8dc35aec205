"""How the two sides of a join come in batches."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .case import Case


@dataclass(frozen=True)
class Batches:
    """build       the side that is built
    build_rows  of a batch of it, about
    probe_rows  of a batch of the other, about
    probes      among which the batches are dealt
    host_bytes  the limit of the host's memory, beyond which rows go to files; 0 = none
    seed        of where batches end, and of the order of calls
    own_filter  GPUJOIN_OWN_FILTER_*: ON where the kind of join allows one
    all_pass    the kind of a filter that the batches of the other side have to pass, which all rows
                do: of a build of these rows themselves; none: there is none
    decided     whether the residual is the caller's, who evaluates it as the reference does
    """

    build: str
    build_rows: int
    probe_rows: int
    probes: int
    host_bytes: int
    seed: int
    own_filter: int = 0
    all_pass: int | None = None
    decided: bool = False

    def __str__(self) -> str:
        return "batches " + " ".join(f"{name}={value}" for name, value in vars(self).items())

    @property
    def probe(self) -> str:
        return "right" if self.build == "left" else "left"


def can_spill(case: Case) -> bool:
    """Whether rows may go to files: not of an ASOF join without keys."""
    return case.asof is None or bool(case.keys["left"])


def can_be_decided(case: Case) -> bool:
    """Whether the residual can be the caller's; what has wrong types the library refuses itself."""
    if case.residual is None or case.is_type_error or case.grouped is not None:
        return False
    return bool(case.keys["left"]) and case.kind.rule not in ("mark", "not_in")


def draw_batches(rng: random.Random, case: Case) -> Batches | None:
    """None: no operation does such a join."""
    build = rng.choice(("left", "right"))
    if case.asof is not None:
        build = "right"
    if case.grouped is not None:
        if case.grouped.by not in ("left", "right"):
            return None
        build = "right" if case.grouped.by == "left" else "left"
        if case.asof is not None and build == "left":
            return None
    limits = (0, 1 << 20, 1 << 21, 1 << 22) if can_spill(case) else (0,)
    return Batches(
        build=build,
        build_rows=rng.choice((1, 7, 64, 1000, 1 << 20)),
        probe_rows=rng.choice((1, 7, 64, 1000, 1 << 20)),
        probes=rng.choice((1, 1, 2, 3)),
        host_bytes=rng.choice(limits),
        seed=rng.randint(1, 1 << 30),
        own_filter=rng.choice((0, 1, 2, 2)),
        all_pass=rng.choice((None, None, 0, 4)),
        decided=can_be_decided(case) and rng.random() < 0.5,
    )
