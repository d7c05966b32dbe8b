"""Tests of whether two proportions are equal."""

from __future__ import annotations

import math

from equipoise.stats.intervals import normal_p_value


def fisher_exact_p_value(successes: int, trials: int, other_successes: int, other_trials: int) -> float:
    """The two-sided p-value of Fisher's exact test (Fisher 1935).

    Given all successes, those of the first group have a hypergeometric distribution. The p-value is the
    probability of all tables that are no more probable than the observed one.

    These are the numbers of scipy.stats.fisher_exact. Importing scipy.stats would take half a second
    whenever a run with a judge is shown.
    """
    all_successes = successes + other_successes
    fewest = max(0, all_successes - other_trials)
    most = min(trials, all_successes)
    ways = {}
    for count in range(fewest, most + 1):
        ways[count] = math.comb(trials, count) * math.comb(other_trials, all_successes - count)
    as_improbable = sum(way for way in ways.values() if way <= ways[successes])
    return as_improbable / sum(ways.values())


def two_proportion_p_value(successes: int, trials: int, other_successes: int, other_trials: int) -> float:
    """The two-sided p-value of the z test of two proportions, with Yates' correction (Yates 1934).

        z = max(|p_1 - p_2| - (1/n_1 + 1/n_2)/2, 0) / √(p (1 - p) (1/n_1 + 1/n_2))

    with p the pooled proportion. It is 1 where there are no trials, or only successes, or none.
    """
    all_successes = successes + other_successes
    all_trials = trials + other_trials
    if not trials or not other_trials or all_successes in (0, all_trials):
        return 1.0
    pooled = all_successes / all_trials
    inverse_trials = 1 / trials + 1 / other_trials
    standard_error = math.sqrt(pooled * (1 - pooled) * inverse_trials)
    gap = abs(successes / trials - other_successes / other_trials)
    corrected_gap = max(gap - inverse_trials / 2, 0.0)
    return float(normal_p_value(corrected_gap / standard_error))
