"""Descriptive statistics and least squares."""

import math

from .inputs import matrix, number, numbers


def _quantile(ordered, share):
    """Linear between the two nearest values, as in most programs."""
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def statistics(values, predictors=None, confidence=0.95) -> dict:
    """Describe numbers; with predictors, fit a linear model of them."""
    data = numbers(values, "values")
    if not 0 < number(confidence, "confidence") < 1:
        raise ValueError("confidence must be between 0 and 1, such as 0.95")
    if predictors is not None:
        return _regression(data, predictors, confidence)
    count = len(data)
    mean = math.fsum(data) / count
    # The second sum takes out what rounding left in the mean.
    mean += math.fsum(value - mean for value in data) / count
    off = [value - mean for value in data]
    squares = math.fsum(value * value for value in off)
    ordered = sorted(data)
    described = {
        "count": count,
        "mean": mean,
        "median": _quantile(ordered, 0.5),
        "min": ordered[0],
        "max": ordered[-1],
        "q1": _quantile(ordered, 0.25),
        "q3": _quantile(ordered, 0.75),
        "sum": math.fsum(data),
    }
    if count > 1:
        described.update(_spread(off, squares, mean, confidence))
    return described


def _spread(off, squares, mean, confidence):
    from scipy import stats

    count = len(off)
    deviation = math.sqrt(squares / (count - 1))
    error = deviation / math.sqrt(count)
    half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * error
    spread = {
        "variance": squares / (count - 1),
        "std": deviation,
        "standard_error": error,
        "confidence_interval": [mean - half, mean + half],
    }
    if squares > 0:
        lagged = math.fsum(one * other for one, other in zip(off, off[1:]))
        second = squares / count
        spread["skewness"] = math.fsum(value**3 for value in off) / count / second**1.5
        spread["kurtosis"] = math.fsum(value**4 for value in off) / count / second**2 - 3
        spread["autocorrelation"] = lagged / squares
    return spread


def _regression(data, predictors, confidence):
    import numpy
    from statsmodels.regression.linear_model import OLS

    if not isinstance(predictors, dict) or not predictors:
        raise ValueError('predictors must be an object of lists, such as {"x": [1, 2, 3]}')
    columns = matrix(list(predictors.values()), "predictors", 1_000_000)
    if len(columns[0]) != len(data):
        raise ValueError(
            "each predictor must have {} numbers, as values has, not {}".format(len(data), len(columns[0]))
        )
    if len(data) <= len(columns) + 1:
        raise ValueError("{} values are too few for {} predictors".format(len(data), len(columns)))
    design = numpy.column_stack([numpy.ones(len(data)), *columns])
    # By the pseudo-inverse: on ill-conditioned data its standard errors keep more digits than by QR.
    fit = OLS(numpy.array(data), design).fit(method="pinv")
    bounds = fit.conf_int(1 - confidence)
    rows = zip(["intercept", *predictors], fit.params, fit.bse, fit.tvalues, fit.pvalues, bounds)
    return {
        "count": len(data),
        "coefficients": [
            {
                "name": name,
                "estimate": float(estimate),
                "standard_error": float(error),
                "t": float(ratio),
                "p": float(chance),
                "confidence_interval": [float(bound[0]), float(bound[1])],
            }
            for name, estimate, error, ratio, chance, bound in rows
        ],
        "r_squared": float(fit.rsquared),
        "residual_std": math.sqrt(fit.scale),
        "f": float(fit.fvalue),
        "f_p": float(fit.f_pvalue),
    }
