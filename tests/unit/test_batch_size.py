"""How much is taken at once: halved where something fails, doubled where it goes well."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from oneroof.failures.batch_size import Width


@given(st.integers(1, 1_000_000))
def test_an_item_is_alone_after_log_n_halvings(most: int) -> None:
    """And at one there is nothing left to halve."""
    width, steps = Width(most=most), 0
    while width.narrow():
        steps += 1
    assert width.now == 1
    assert steps == math.ceil(math.log2(most))


@given(st.integers(1, 1_000_000), st.integers(1, 40))
def test_it_never_leaves_its_bounds(most: int, times: int) -> None:
    """Between one and the most, whatever happens."""
    width = Width(most=most)
    for _ in range(times):
        width.narrow()
    for _ in range(times):
        width.widen()
        assert 1 <= width.now <= most
    assert width.now == most or times < math.ceil(math.log2(most))
