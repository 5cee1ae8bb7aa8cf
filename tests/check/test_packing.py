"""Packed states are no longer than they must be, and spare bits go where values are likely to come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attractor.check.engine.packing import MOST_SPARE, WORD, with_room, words


@given(sizes=st.lists(st.integers(min_value=1, max_value=5_000), min_size=1, max_size=60))
def test_every_domain_fits_and_spare_bits_make_no_state_longer(sizes: list[int]) -> None:
    needed = [(size - 1).bit_length() for size in sizes]
    bits = with_room(sizes)
    assert all(least <= width <= least + MOST_SPARE for least, width in zip(needed, bits, strict=True))
    assert words(bits) == words(needed)
    assert sum(bits) <= words(bits) * WORD


def test_a_large_domain_that_is_nearly_full_gets_a_spare_bit_before_small_ones_and_half_empty_ones() -> None:
    assert with_room([*[2] * 49, 65, 128]) == [*[1] * 49, 7, 8]


def test_fields_are_counted_as_the_kernel_lays_them_out() -> None:
    assert words([0, 0]) == 1
    assert words([40, 40, 24, 24]) == 2
    assert words([40, 40, 40]) == 3
