"""Finds the least value of a function: python3 bowl.py [FLAGS OF tune optimize]"""
import sys

import tune


def f(point):
    return ((point["x"] - 3) ** 2 + (point["y"] - 5) ** 2) * (2 if point["slow"] else 1)


questions = tune.ask("space.yaml", *(sys.argv[1:] or ["--evals", "60"]))
for point in questions:
    tune.tell(point, f(point), distance=f(point) ** 0.5)
print(questions.why, questions.best, questions.cost)
