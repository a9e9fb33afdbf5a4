#!/usr/bin/env python3
"""Searches the tasks of tune bench objectives with Optuna's NSGA-II, and compares the fronts with those of tune.

    tune bench objectives --data DIR --seeds 20 --json --rows > objectives.json
    python3 objectives.py objectives.json [POPULATION...]

It needs Optuna 3 (Debian: python3-optuna). POPULATION is the size of a population; the default of Optuna is 50. Optuna does not know
the constraints of a space, so that three things are made easy for it. Its first population consists of valid points. A point that is not
in the space is no evaluation, and is told as a violated constraint. A point that it asks again is no evaluation. It may make 10 trials
for each evaluation.
"""
import json
import math
import multiprocessing
import random
import statistics
import sys
import warnings

import optuna
from optuna.distributions import IntDistribution

warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def volume(task, pairs):
    """The hypervolume of some pairs of numbers, counted as tune does, as a share of that of the true front."""
    def counted(k, v):
        return math.log(v) if task["log"][k] else v

    first, last = task["front"][0], task["front"][-1]
    low = [counted(0, first[0]), counted(1, last[1])]
    span = [counted(0, last[0]) - low[0], counted(1, first[1]) - low[1]]
    places = sorted([(counted(k, p[k]) - low[k]) / span[k] for k in range(2)] for p in pairs)
    total, height = 0.0, task["reference"]
    for x, y in places:
        if x < task["reference"] and y < height:
            total += (task["reference"] - x) * (height - y)
            height = y
    return total / task["volume"]


def search(job):
    task, population, seed, evals = job
    rows = {tuple(r): v for r, v in zip(task["rows"], task["values"])}
    sampler = optuna.samplers.NSGAIISampler(
        seed=seed, population_size=population, constraints_func=lambda trial: (trial.user_attrs["bad"],)
    )
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    names = task["names"]
    distributions = {name: IntDistribution(0, size - 1) for name, size in zip(names, task["sizes"])}
    for r in random.Random(seed).sample(task["rows"], min(population, len(task["rows"]))):
        study.enqueue_trial(dict(zip(names, r)))
    asked, pairs, out = set(), [], []
    for _ in range(10 * evals[-1]):
        trial = study.ask(distributions)
        point = tuple(trial.params[name] for name in names)
        values = rows.get(point)
        if values:
            trial.set_user_attr("bad", -1)
            study.tell(trial, values)
        else:
            trial.set_user_attr("bad", 1)
            study.tell(trial, [1e30, 1e30])
        if values is None or point in asked:
            continue
        asked.add(point)
        if values:
            pairs.append(values)
        if len(asked) in evals:
            out.append(volume(task, pairs))
        if len(asked) == min(evals[-1], len(rows)):
            break
    return out + [volume(task, pairs)] * (len(evals) - len(out))


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    populations = [int(p) for p in sys.argv[2:]] or [50]
    evals = sorted({r["evals"] for r in report["overall"]})
    print("| strategy | " + " | ".join(f"@{n}" for n in evals) + " |\n" + "| --- " * (len(evals) + 1) + "|")
    rows = {}
    for r in report["overall"]:
        rows.setdefault(r["strategy"], []).append(f"{r['volume']['mean']:.4f} ±{r['volume']['standard_error']:.4f}")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |")
    tasks, seeds = report["tasks"], range(1, report["seeds"] + 1)
    for population in populations:
        jobs = [(task, population, seed, evals) for seed in seeds for task in tasks]
        with multiprocessing.Pool() as pool:
            found = pool.map(search, jobs, chunksize=1)
        cells = []
        for e in range(len(evals)):
            means = [statistics.mean(found[i * len(tasks) + k][e] for k in range(len(tasks))) for i in range(len(seeds))]
            cells.append(f"{statistics.mean(means):.4f} ±{statistics.stdev(means) / math.sqrt(len(means)):.4f}")
        print(f"| Optuna {optuna.__version__} NSGA-II, population {population} | " + " | ".join(cells) + " |", flush=True)


main()
