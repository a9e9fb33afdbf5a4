#!/usr/bin/env python3
"""Compares what Optuna says about the importance of parameters with what tune says, on the same outcomes.

    tune bench importance --data DIR --seeds 20 --json --outcomes > importance.json
    python3 importance.py importance.json

It needs Optuna 3 and scikit-learn (Debian: python3-optuna, python3-sklearn). Optuna before 3.6 has no PED-ANOVA, so that
this file has it: Watanabe, Bansal and Hutter, "PED-ANOVA: efficiently quantifying hyperparameter importance in arbitrary
subspaces", 2023, with the defaults of Optuna: the best tenth of the outcomes against all of them.
"""
import json
import math
import statistics
import sys
import warnings

import optuna
from optuna.distributions import IntDistribution

warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def ranks(values):
    return [sum(w < v for w in values) + (sum(w == v for w in values) - 1) / 2 for v in values]


def spearman(a, b):
    ra, rb = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(ra, rb))
    bottom = math.sqrt(sum((x - mean) ** 2 for x in ra) * sum((y - mean) ** 2 for y in rb))
    return top / bottom if bottom else 0.0


def fanova(run, points, values, names):
    study = optuna.create_study()
    distributions = {
        name: IntDistribution(0, run["sizes"][i] - 1) for i, name in enumerate(run["names"]) if name in names
    }
    for p, v in zip(points, values):
        params = {name: max(p[i], 0) for i, name in enumerate(run["names"]) if name in names}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=v))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=run["seed"])
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


def density(ordinals, size):
    """A Parzen estimator on the grid of ordinals: normal kernels with Scott's bandwidth, and a prior of weight one."""
    n = len(ordinals)
    mean = sum(ordinals) / n
    deviation = math.sqrt(sum((o - mean) ** 2 for o in ordinals) / max(n - 1, 1))
    width = max(1.059 * deviation * n ** -0.2, 0.5 / 1.64)
    total = [1 / size] * size
    for o in ordinals:
        cells = [0.5 * (math.erf((k + 0.5 - o) / width / math.sqrt(2)) - math.erf((k - 0.5 - o) / width / math.sqrt(2))) for k in range(size)]
        mass = sum(cells)
        for k in range(size):
            total[k] += cells[k] / mass
    return [t / (n + 1) for t in total]


def ped_anova(run, points, values, names):
    order = sorted(range(len(values)), key=lambda i: values[i])
    top = order[: max(int(math.ceil(0.1 * len(order))), 2)]
    out = {}
    for i, name in enumerate(run["names"]):
        if name not in names:
            continue
        size = run["sizes"][i]
        best = density([max(points[k][i], 0) for k in top], size)
        every = density([max(p[i], 0) for p in points], size)
        out[name] = sum(w * (b / w - 1) ** 2 for b, w in zip(best, every))
    return out


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    truth = {t["space"]: {s["parameters"][0]: s["share"] for s in t["shares"]["single"]} for t in report["truth"]}
    print("| evals | what | mean | standard error |\n| --- | --- | --- | --- |")
    evals = sorted({r["evals"] for r in report["overall"]})
    methods = {
        "Optuna fANOVA": fanova,
        "PED-ANOVA": ped_anova,
    }
    for n in evals:
        for row in report["overall"]:
            if row["evals"] == n:
                for what in ("learned", "measured"):
                    print(f"| {n} | tune, {what} | {row[what]['mean']:.3f} | {row[what]['standard_error']:.3f} |")
        for what, method in methods.items():
            by_seed = {}
            for run in report["outcomes"]:
                true = truth[run["space"]]
                last = sum(t < n for t in run["trials"])
                log = min(run["costs"]) > 0
                values = [math.log(c) if log else c for c in run["costs"][:last]]
                found = method(run, run["points"][:last], values, true)
                names = sorted(true)
                by_seed.setdefault(run["seed"], []).append(spearman([true[k] for k in names], [found.get(k, 0) for k in names]))
            means = [statistics.mean(v) for v in by_seed.values()]
            error = statistics.stdev(means) / math.sqrt(len(means)) if len(means) > 1 else 0.0
            print(f"| {n} | {what} | {statistics.mean(means):.3f} | {error:.3f} |", flush=True)


main()
