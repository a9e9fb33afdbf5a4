"""Ask and tell: tune proposes points of a space, and this program says what they cost. Copy this file; it needs nothing else.

    for point in tune.ask("space.yaml", "--evals", "200", "--dir", "runs/x"):
        tune.tell(point, f(point))
"""
import json
import math
import subprocess


class Point(dict):
    """The values of a point by the names of its parameters, with the number of the question and the fidelity, 0 for the full one."""


class ask:
    """Yields points until tune has enough. best, cost and why then hold the last message; args are flags of tune optimize."""

    best = cost = why = None

    def __init__(self, space, *args, tune="tune"):
        command = [tune, "optimize", *([space] if space else []), *args]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def __iter__(self):
        for line in self.process.stdout:
            message = json.loads(line)
            if "ask" in message:
                point = Point(message["ask"]["point"])
                point.asked, point.id, point.fidelity = self, message["ask"]["id"], message["ask"]["fidelity"]
                yield point
            elif "end" in message:
                self.best, self.cost, self.why = (message["end"].get(k) for k in ("best", "cost", "why"))
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError(f"tune optimize: exit code {self.process.returncode}")


def tell(point, cost=None, *, status=None, reason=None, **metrics):
    """Answers a question. A point without a cost has a status, such as "crashed", and a reason. A cost that is no number is one."""
    cost = None if cost is None else float(cost)  # also that of NumPy
    if cost is not None and not math.isfinite(cost):
        cost, status, reason = None, status or "invalid", reason or f"the cost is {cost}"
    answer = {"id": point.id, "cost": cost, "status": status, "reason": reason, "metrics": {k: float(v) for k, v in metrics.items()} or None}
    stdin = point.asked.process.stdin
    stdin.write(json.dumps({"tell": {k: v for k, v in answer.items() if v is not None}}) + "\n")
    stdin.flush()
