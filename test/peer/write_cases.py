#!/usr/bin/env python3
"""test/peer/write_cases.py DIR: what test_peer and the Peer suites of test_train compare with, into DIR.

Runs control_flow.py, optim.py and loss_scale.py. Exit status 77 without PyTorch or safetensors.
"""
import importlib.util, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
for module in ("torch", "safetensors"):
    if importlib.util.find_spec(module) is None:
        print(f"skipped: there is no {module}")
        sys.exit(77)
os.makedirs(sys.argv[1], exist_ok=True)
for script in ("control_flow.py", "optim.py", "loss_scale.py"):
    subprocess.run([sys.executable, os.path.join(HERE, script), sys.argv[1]], check=True)
