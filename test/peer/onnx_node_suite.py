#!/usr/bin/env python3
"""ONNX's own node suite through the importer: how many cases pass, are refused, are wrong.

    onnx_node_suite.py PROGRAM [--python PYTHON] [--only TEXT] [--why TEXT] [--goal N]

PROGRAM is run_onnx_cases. The cases are those of the package `onnx` 1.22
(onnx/backend/test/data/node); without it the test is skipped (exit status 77). A case that fixes
inputs on which sizes depend is counted as passed, and how many of these there are is printed.
Fails where a case is wrong, or fewer than --goal pass.
"""
import argparse, collections, importlib.util, json, os, re, subprocess, sys


def cases(python):
    """The folder of the cases, by the package of this Python or of another one."""
    code = "import importlib.util as u; s = u.find_spec('onnx'); print(s.submodule_search_locations[0] if s else '')"
    where = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
    folder = os.path.join(where, "backend", "test", "data", "node") if where else ""
    return sorted(os.path.join(folder, c) for c in os.listdir(folder)) if os.path.isdir(folder) else []


def outcomes(program, folders):
    """One object a case. A program that dies is started again behind the case that it died of."""
    left = list(folders)
    while left:
        run = subprocess.run([program], input="".join(f + "\n" for f in left), capture_output=True, text=True)
        lines = [json.loads(l) for l in run.stdout.splitlines() if l.startswith("{")]
        yield from lines
        left = left[len(lines):]
        if left:
            yield {"case": os.path.basename(left[0]), "outcome": "wrong", "fixed": 0,
                   "why": f"the program ended with status {run.returncode}: {run.stderr[-300:]}"}
            left = left[1:]


def reasons(why):
    """The lines of a refusal, without the names of values."""
    lines = re.findall(r"^  \d+ x (.*)$", why, re.M) or [why]
    return [re.sub(r'"[^"]*"', '"..."', line) for line in lines]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--python", default=os.environ.get("CLEAVE_ONNX_PYTHON", sys.executable))
    p.add_argument("--only", default="")
    p.add_argument("--why", default=None, help="print the refused cases whose reason holds this")
    p.add_argument("--goal", type=int, default=0)
    a = p.parse_args()
    folders = [c for c in cases(a.python) if a.only in os.path.basename(c)]
    if not folders:
        print("skipped: the package onnx is not installed")
        return 77
    by = collections.defaultdict(list)
    refusals, fixed = collections.Counter(), 0
    for o in outcomes(a.program, folders):
        by[o["outcome"]].append(o)
        if o["outcome"] == "refused":
            refusals.update(set(reasons(o["why"])))
        elif o["fixed"]:
            fixed += 1
    passed = len(by["passed"]) + len(by["shapes"])
    print(f"cases    {len(folders):5}")
    print(f"passed   {passed:5}   of these {fixed} with inputs fixed at import, "
          f"{len(by['shapes'])} of random numbers, whose types alone are compared")
    print(f"refused  {len(by['refused']):5}")
    print(f"wrong    {len(by['wrong']):5}")
    print("\nrefused because of (cases):")
    for why, count in refusals.most_common():
        print(f"  {count:4}  {why}")
    for o in by["wrong"]:
        print(f"wrong: {o['case']}: {o['why'][:600]}")
    if a.why is not None:
        for o in by["refused"]:
            if a.why in o["why"]:
                print(f"refused: {o['case']}: {o['why'][:800]}")
    return 1 if by["wrong"] or passed < a.goal else 0


if __name__ == "__main__":
    sys.exit(main())
