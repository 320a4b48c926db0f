"""What is said of sizes that were not measured."""

import pytest

from benchmarks.extrapolate import PowerLaw


def test_a_power_law_is_found_and_goes_on() -> None:
    law = PowerLaw.through([10, 100, 1000], [2 * 10**1.5, 2 * 100**1.5, 2 * 1000**1.5])
    estimate = law.at(1e6)
    assert law.slope == pytest.approx(1.5)
    assert estimate.value == pytest.approx(2e9)
    assert estimate.low == pytest.approx(estimate.high)


def test_the_interval_widens_with_the_distance_and_holds_the_value() -> None:
    law = PowerLaw.through([10, 100, 1000], [11, 95, 1030])
    widths = [law.at(size).high / law.at(size).low for size in (100, 10_000, 1_000_000)]
    assert widths == sorted(widths)
    assert law.at(1e6).low < law.at(1e6).value < law.at(1e6).high


@pytest.mark.parametrize(
    ("sizes", "values"), [([1, 2], [1, 2]), ([1, 1, 2], [1, 1, 2]), ([1, 2, 3], [0, 1, 2])]
)
def test_too_little_to_extrapolate_from_is_refused(sizes: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match="three different sizes"):
        PowerLaw.through(sizes, values)
