"""Intervals against published figures, and what must hold of them whatever the data."""

from math import isclose, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batchboard.compare import difference_of_shares, mean, share
from batchboard.compare.ratio import Ratio, fewest_more, fieller
from batchboard.compare.student import quantile

AMOUNTS = st.lists(st.integers(1, 10**9).map(float), min_size=3, max_size=12)


# Student's t


@pytest.mark.parametrize(
    ("freedom", "t90", "t95", "t99"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, critical values of Student's
        # t: columns 0.95, 0.975, 0.995.
        (1, 6.314, 12.706, 63.657),
        (2, 2.920, 4.303, 9.925),
        (3, 2.353, 3.182, 5.841),
        (4, 2.132, 2.776, 4.604),
        (5, 2.015, 2.571, 4.032),
        (9, 1.833, 2.262, 3.250),
        (10, 1.812, 2.228, 3.169),
        (20, 1.725, 2.086, 2.845),
        (30, 1.697, 2.042, 2.750),
        (60, 1.671, 2.000, 2.660),
        (99, 1.660, 1.984, 2.626),
        (100, 1.660, 1.984, 2.626),
        (10**9, 1.645, 1.960, 2.576),
    ],
)
def test_quantiles_of_t_are_those_of_the_tables(freedom, t90, t95, t99):
    found = [round(quantile(p, freedom), 3) for p in (0.95, 0.975, 0.995)]
    assert found == [t90, t95, t99]


@given(st.floats(0.01, 0.99))
def test_with_one_or_two_degrees_of_freedom_t_has_a_closed_form(probability):
    centred = 2 * probability - 1
    two = centred * sqrt(2 / (1 - centred * centred))
    assert isclose(quantile(probability, 2), two, rel_tol=1e-9, abs_tol=1e-12)


@given(st.floats(0.5001, 0.9999), st.floats(1, 5000), st.floats(1.001, 3))
def test_t_falls_as_degrees_of_freedom_grow_and_is_symmetrical(probability, freedom, times):
    assert quantile(probability, freedom * times) < quantile(probability, freedom) * (1 + 1e-7)
    assert quantile(1 - probability, freedom) == pytest.approx(-quantile(probability, freedom))


@pytest.mark.parametrize(
    ("probability", "freedom", "t"),
    [
        # scipy 1.17.1, stats.t.ppf: between whole degrees of freedom, in the far tail, and with the
        # probabilities that several arms at once ask for.
        (0.975, 17.776, 2.102821310),
        (0.9875, 49, 2.312375164),
        (0.99642857, 4_999, 2.691217922),
        (0.9999, 2.5, 34.867969321),
    ],
)
def test_quantiles_of_t_are_those_of_scipy(probability, freedom, t):
    assert quantile(probability, freedom) == pytest.approx(t, rel=1e-8)


def test_the_series_meets_the_exact_quantile():
    for probability in (0.9, 0.975, 0.9999):
        below, above = quantile(probability, 99.9999), quantile(probability, 100)
        assert isclose(below, above, rel_tol=1e-6)


@pytest.mark.parametrize(("probability", "freedom"), [(0, 5), (1, 5), (0.9, 0), (0.9, -1)])
def test_a_quantile_that_does_not_exist_is_refused(probability, freedom):
    with pytest.raises(ValueError, match="must be"):
        quantile(probability, freedom)


# Means


def test_the_interval_of_a_mean_is_that_of_students_sleep_data():
    # Student, The probable error of a mean, Biometrika 6 (1908): extra hours of sleep, the second
    # drug less the first. R's t.test(sleep) prints 1.58 (0.7001142, 2.4598858).
    hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = mean(hours)
    assert (found.low, found.mid, found.high) == pytest.approx((0.7001142, 1.58, 2.4598858))


def test_a_single_value_has_no_interval():
    assert mean([3.0]).low is None
    assert mean([3.0]).high is None
    with pytest.raises(ValueError, match="nothing"):
        mean([])


# Shares


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in
        # Medicine 17 (1998), table I, method 3: the score method without continuity correction.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_of_a_share_is_wilsons(part, whole, low, high):
    found = share(part, whole)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("part", "whole", "part_before", "whole_before", "low", "high"),
    [
        # Newcombe, Interval estimation for the difference between independent proportions,
        # Statistics in Medicine 17 (1998), table II, method 10.
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (5, 56, 0, 29, -0.0381, 0.1926),
        (0, 10, 0, 10, -0.2775, 0.2775),
        (10, 10, 0, 20, 0.6791, 1.0000),
    ],
)
def test_the_interval_of_a_difference_is_newcombes(
    part, whole, part_before, whole_before, low, high
):
    found = difference_of_shares(part, whole, part_before, whole_before)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("part", "whole", "part_before", "whole_before", "low", "high"),
    [
        # statsmodels 0.15.0, confint_proportions_2indep(…, compare="diff", method="newcomb"): what
        # samples of review and dead items look like.
        (48, 50, 30, 50, 0.204101, 0.501188),
        (5, 5, 4, 5, -0.264325, 0.624465),
        (20, 20, 12, 20, 0.157529, 0.613418),
        (0, 5_000, 9, 5_000, -0.003418, -0.000653),
        (3, 3, 3, 3, -0.561497, 0.561497),
    ],
)
def test_the_interval_of_a_difference_is_that_of_statsmodels(
    part, whole, part_before, whole_before, low, high
):
    found = difference_of_shares(part, whole, part_before, whole_before)
    assert (round(found.low, 6), round(found.high, 6)) == (low, high)


@given(st.integers(1, 500), st.data())
def test_a_share_lies_in_its_interval_and_that_between_none_and_all(whole, data):
    part = data.draw(st.integers(0, whole))
    found = share(part, whole)
    assert 0 <= found.low <= found.mid <= found.high <= 1
    mirrored = share(whole - part, whole)
    assert isclose(mirrored.low, 1 - found.high, abs_tol=1e-12)


@given(st.integers(1, 200), st.integers(1, 200), st.data())
def test_a_difference_turned_round_has_the_interval_turned_round(whole, other, data):
    part, part_other = data.draw(st.integers(0, whole)), data.draw(st.integers(0, other))
    found = difference_of_shares(part, whole, part_other, other)
    turned = difference_of_shares(part_other, other, part, whole)
    assert -1 - 1e-12 <= found.low <= found.mid <= found.high <= 1 + 1e-12
    assert isclose(found.low, -turned.high, abs_tol=1e-12)


# Ratios


def test_fiellers_limits_are_those_of_dcstats():
    # github.com/DCPROGS/DCSTATS, the printed example: a 14, b 7 with standard deviations 3 and 2,
    # t 1.812461: limits 1.051413 and 4.414296.
    found = fieller(14, 7, 9, 4, 0, 1.812461)
    assert [round(end, 6) for end in found] == [1.051413, 4.414296]


@pytest.mark.parametrize(
    ("confidence", "low", "high"), [(0.90, 1.54, 2.64), (0.95, 1.46, 2.83), (0.99, 1.27, 3.36)]
)
def test_fiellers_limits_are_those_of_graphpad(confidence, low, high):
    # GraphPad QuickCalcs (errorProp2) as quoted there: means 14 and 7, standard deviations 3 and
    # 2, six of each, ten degrees of freedom.
    t = quantile((1 + confidence) / 2, 10)
    found = fieller(14, 7, 9 / 6, 4 / 6, 0, t)
    assert [round(end, 2) for end in found] == [low, high]


def ratio_of(after, before, *, paired):
    """The ratio of two means from the values themselves, by the textbook."""

    def variance(one, other):
        """Of the mean, or the covariance of two means."""
        middles = sum(one) / len(one), sum(other) / len(other)
        apart = sum((a - middles[0]) * (b - middles[1]) for a, b in zip(one, other, strict=True))
        return apart / (len(one) - 1) / len(one)

    return Ratio(
        sum(after) / len(after),
        sum(before) / len(before),
        variance(after, after),
        variance(before, before),
        len(after),
        len(before),
        paired,
        variance(after, before) if paired else 0.0,
    )


BEFORE = [12.1, 9.4, 30.2, 7.7, 15.0, 11.9, 8.8, 21.3]
AFTER = [9.0, 8.1, 21.5, 7.9, 11.2, 8.7, 7.4, 14.9]


@pytest.mark.parametrize(
    ("confidence", "low", "high"),
    [
        # scipy 1.17.1: the ratios at which the p value of stats.ttest_rel(after, ratio * before)
        # crosses 1 - confidence.
        (0.90, 0.7195976567, 0.8417893948),
        (0.95, 0.7116163979, 0.8755877777),
        (0.99, 0.6947534915, 1.0228805773),
    ],
)
def test_the_interval_of_pairs_ends_where_the_paired_t_test_of_scipy_turns(confidence, low, high):
    found = ratio_of(AFTER, BEFORE, paired=True).interval(confidence)
    assert (found.low, found.mid, found.high) == pytest.approx((low, 0.7620274914, high), rel=1e-9)


def test_a_difference_is_refused_as_the_t_tests_of_scipy_refuse_it():
    # scipy 1.17.1: stats.ttest_rel gives p = 0.0117364, stats.ttest_ind(equal_var=False) 0.301744.
    for paired, p in ((True, 0.0117364), (False, 0.301744)):
        ratio = ratio_of(AFTER, BEFORE, paired=paired)
        assert ratio.refuses(1, 1 - p - 1e-6)
        assert not ratio.refuses(1, 1 - p + 1e-6)


def test_welchs_degrees_of_freedom_are_those_of_r():
    # R's t.test(extra ~ group, data = sleep), unpaired: df = 17.776.
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    ratio = ratio_of(second, first, paired=False)
    assert round(ratio.freedom(1), 3) == 17.776


@given(AMOUNTS, AMOUNTS, st.floats(0.3, 3))
def test_a_ratio_is_in_fiellers_interval_of_pairs_just_where_the_paired_t_test_keeps_it(
    one, other, tried
):
    size = min(len(one), len(other))
    one, other = one[:size], other[:size]
    found = ratio_of(one, other, paired=True).interval()
    assume(None not in (found.low, found.high))
    # Beside a bound the two may differ by rounding.
    assume(all(abs(tried - end) > 1e-6 * end for end in (found.low, found.high)))
    differences = mean([a - tried * b for a, b in zip(one, other, strict=True)])
    assert (found.low <= tried <= found.high) == (differences.low <= 0 <= differences.high)


@given(AMOUNTS, AMOUNTS)
def test_an_interval_holds_its_ratio_and_does_not_depend_on_the_unit(one, other):
    found = ratio_of(one, other, paired=False).interval()
    in_cents = ratio_of([a * 4 for a in one], [b * 4 for b in other], paired=False).interval()
    if found.low is not None:
        assert found.low <= found.mid * (1 + 1e-9)
        assert in_cents.low == pytest.approx(found.low, rel=1e-6, abs=1e-9)
    if found.high is not None:
        assert found.mid <= found.high * (1 + 1e-9)


def test_equal_values_have_an_interval_without_width():
    found = ratio_of([5.0] * 4, [5.0] * 4, paired=True).interval()
    assert (found.low, found.mid, found.high) == (1, 1, 1)
    found = ratio_of([4.0] * 4, [5.0] * 3, paired=False).interval()
    assert (found.low, found.mid, found.high) == pytest.approx((0.8, 0.8, 0.8))


def test_a_measure_that_might_be_nothing_bounds_no_ratio_from_above():
    assert ratio_of([5.0, 6.0, 7.0], [0.0, 0.0, 9.0], paired=False).interval().high is None


@given(st.integers(1, 1_000_000))
def test_the_fewest_that_are_enough_are_found(needed):
    assert fewest_more(lambda more: more >= needed) == needed


def test_what_is_never_enough_is_given_up():
    assert fewest_more(lambda more: False) is None
