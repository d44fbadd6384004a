"""Median and spread."""

import statistics


def spread(values):
    """Median and quartiles of one or more numbers."""
    values = sorted(values)
    if len(values) == 1:
        low = high = values[0]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": low, "high": high}
