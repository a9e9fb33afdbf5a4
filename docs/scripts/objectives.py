#!/usr/bin/env python3
"""Searches the tasks of tune bench objectives with Optuna's NSGA-II, and compares the fronts with those of tune.

    tune bench objectives --data DIR --knobs --seeds 20 --json --rows > objectives.json
    python3 objectives.py objectives.json [POPULATION...]

It needs Optuna 3 (Debian: python3-optuna). POPULATION is the size of a population; the default of Optuna is 50. Optuna does not know
the constraints of a space, so that three things are made easy for it. Its first population consists of valid points. A point that is not
in the space is no evaluation, and is told as a violated constraint. A point that it asks again is no evaluation. It may make 10 trials
for each evaluation.
"""
import itertools
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


class Storage(optuna.storages.InMemoryStorage):
    """Optuna's storage for trials that come one after the other: of those that are finished, none waits."""

    finished = 0

    def get_all_trials(self, study_id, deepcopy=True, states=None):
        if states != (optuna.trial.TrialState.WAITING,):
            return super().get_all_trials(study_id, deepcopy, states)
        trials = self._studies[study_id].trials
        while self.finished < len(trials) and trials[self.finished].state.is_finished():
            self.finished += 1
        return [trial for trial in trials[self.finished :] if trial.state in states]


class OneByOne(optuna.samplers.NSGAIISampler):
    """Optuna's NSGA-II for trials that come one after the other. It asks for the same points, and each trial is read only once, where
    Optuna reads all of them again for each new one."""

    read, generation, parents, children = 0, -1, [], []

    def infer_relative_search_space(self, study, trial):
        return {name: d for name, d in self.distributions.items() if not d.single()} if self.read else {}

    def _collect_parent_population(self, study):
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
        for trial in itertools.takewhile(lambda trial: trial.state.is_finished(), trials[self.read :]):
            self.read += 1
            self.children = self.children + [trial]
            if len(self.children) == self._population_size:
                self.parents = self._select_elite_population(study, self.children + self.parents)
                self.generation, self.children = self.generation + 1, []
        return self.generation, self.parents


def search(job):
    task, population, seed, evals = job
    rows = {tuple(r): v for r, v in zip(task["rows"], task["values"])}
    sampler = OneByOne(
        seed=seed, population_size=population, constraints_func=lambda trial: (trial.user_attrs["bad"],)
    )
    study = optuna.create_study(storage=Storage(), directions=["minimize", "minimize"], sampler=sampler)
    names = task["names"]
    distributions = {name: IntDistribution(0, size - 1) for name, size in zip(names, task["sizes"])}
    sampler.distributions = distributions
    for r in random.Random(seed).sample(task["rows"], min(population, len(task["rows"]))):
        study.enqueue_trial(dict(zip(names, r)))
    asked, pairs, out = set(), [], []
    for _ in range(10 * evals[-1]):
        trial = study.ask(distributions)
        params = trial.params
        point = tuple(params[name] for name in names)
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
