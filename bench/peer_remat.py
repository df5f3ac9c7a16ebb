#!/usr/bin/env python3
"""Plans with recomputations beside a constraint solver's, on the graphs that `cleave remat` reads.

    python3 bench/peer_remat.py CLEAVE GRAPH.json... [--percent 90 80] [--seconds 60] [--workers 1]

The peer is OR-Tools' CP-SAT (PyPI `ortools`, for development only) with Moccasin's model (Bartan et al., ICML 2023,
section 2): first runs in the given order, each task at most twice, so that a value is in memory during one or two
intervals; memory is `cumulative`. It starts from the given order without recomputations, and lowers its peak to the limit
first (their section 3), then the time. Seconds are the processor's, of all workers together: other programs on the
machine don't count. A line: what each reaches and in which time; exit status 1 where cleave takes more recomputation.
"""
import argparse
import json
import subprocess
import threading
import time

from ortools.sat.python import cp_model


def read(path):
    data = json.load(open(path))
    nodes = data["nodes"]
    names = [str(node["name"]) for node in nodes]
    order = [str(name) for name in data["graph"]["order"]]
    place = {name: k for k, name in enumerate(order)}
    size, duration = [0] * len(order), [0] * len(order)
    for name, node in zip(names, nodes):
        size[place[name]], duration[place[name]] = node["out_cost"], node["duration"]
    links = {(place[str(link.get("source", link.get("0")))], place[str(link.get("target", link.get("1")))])
             for link in data["links"]}
    return size, duration, sorted(links)


def peak_in_order(size, links):
    """Of the given order, each task once."""
    last = list(range(len(size)))
    for u, v in links:
        last[u] = max(last[u], v)
    alive = [0] * (len(size) + 1)
    for v, end in enumerate(last):
        alive[v] += size[v]
        alive[end + 1] -= size[v]
    peak = now = 0
    for change in alive:
        now += change
        peak = max(peak, now)
    return peak


def run(model, seconds, workers, until=None):
    """Stops after that much processor time, or at a solution whose objective is at most `until`."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    begin = time.process_time()
    ended = threading.Event()

    def watch():
        while not ended.wait(0.2):
            if time.process_time() - begin > seconds:
                return solver.stop_search()

    class Until(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self):
            if until is not None and self.objective_value <= until:
                self.stop_search()

    thread = threading.Thread(target=watch)
    thread.start()
    status = solver.solve(model, Until())
    ended.set()
    thread.join()
    return solver, status, time.process_time() - begin


def solve(size, duration, links, limit, seconds, workers):
    """Seconds, the least time of recomputation found, or None, whether it is proven, and the peak reached."""
    n = len(size)
    # Stage k is the time between the first runs of k - 1 and k: a task v < k may run again in it, at event(k, v).
    def event(stage, task):
        return stage * (stage + 1) // 2 + task
    end = event(n, 0)
    last = list(range(n))
    for u, v in links:
        last[u] = max(last[u], v)
    whole = peak_in_order(size, links)
    model = cp_model.CpModel()
    runs, intervals, demands, again, variables = [], [], [], [], []

    def variable(made, hint):
        variables.append(made)
        model.add_hint(made, hint)
        return made
    for v in range(n):
        first = event(v, v)
        stop = variable(model.new_int_var(first + 1, end, ""), event(last[v], last[v]) + 1)
        intervals.append(model.new_interval_var(first, stop - first, stop, ""))
        runs.append([(first, stop, None)])
        demands.append(size[v])
        if v + 1 < n:
            used = variable(model.new_bool_var(""), 0)
            start = model.new_int_var_from_domain(
                cp_model.Domain.from_values([event(k, v) for k in range(v + 1, n)]), "")
            stop2 = model.new_int_var(0, end, "")
            length = model.new_int_var(1, end, "")
            variables.extend([start, stop2, length])
            intervals.append(model.new_optional_interval_var(start, length, stop2, used, ""))
            model.add(start >= stop).only_enforce_if(used)
            runs[v].append((start, stop2, used))
            demands.append(size[v])
            again.append((used, duration[v]))
    for u, v in links:
        for start, _, used in runs[v]:
            choices = []
            for from_start, from_stop, from_used in runs[u]:
                is_first = from_used is None and used is None
                reads = variable(model.new_bool_var(""), 1 if is_first else 0)
                model.add(from_start + 1 <= start).only_enforce_if(reads)
                model.add(from_stop >= start + 1).only_enforce_if(reads)
                if from_used is not None:
                    model.add_implication(reads, from_used)
                choices.append(reads)
            model.add_bool_or(choices + ([used.negated()] if used is not None else []))
    room = variable(model.new_int_var(limit, max(whole, limit), ""), whole)
    model.add_cumulative(intervals, demands, room)
    model.minimize(room)
    solver, status, spent = run(model, seconds, workers, until=limit)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return spent, None, False, whole
    reached = int(solver.objective_value)
    if reached > limit:
        return spent, None, False, reached
    model.clear_hints()
    for v in variables:
        model.add_hint(v, solver.value(v))
    model.add(room == limit)
    model.minimize(sum(used * time_ for used, time_ in again))
    solver, status, more = run(model, seconds - spent, workers)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return spent + more, int(solver.objective_value) if found else None, status == cp_model.OPTIMAL, limit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cleave")
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--percent", type=int, nargs="+", default=[90, 80])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    behind = False
    for path in options.graphs:
        size, duration, links = read(path)
        for percent in options.percent:
            out = subprocess.run([options.cleave, "remat", path, "--peak-percent", str(percent), "--json"],
                                 capture_output=True, text=True)
            ours = json.loads(out.stdout)
            limit = ours["limit_bytes"]
            seconds, found, optimal, reached = solve(size, duration, links, limit, options.seconds, options.workers)
            theirs = None if found is None else 100 * found / sum(duration)
            worse = theirs is not None and (not ours["met"] or ours["overhead_percent"] > theirs + 1e-9)
            behind |= worse
            print(f"{path.rsplit('/', 1)[-1]:<28}{percent:>4}%  cleave {ours['overhead_percent']:.3f}% "
                  f"(bound {ours['bound_percent']:.3f}) in {ours['solve_ms'] / 1e3:.2f} s   CP-SAT "
                  + (f"nothing, {100 * reached / limit - 100:.1f}% above the limit" if theirs is None else f"{theirs:.3f}%{' proven in this order' if optimal else ''}")
                  + f" in {seconds:.0f} s{'   BEHIND' if worse else ''}", flush=True)
    return behind


if __name__ == "__main__":
    raise SystemExit(main())
