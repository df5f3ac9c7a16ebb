#!/usr/bin/env python3
"""A minimum cut compared with networkx's preflow_push, which PyTorch's partitioner uses, on the same networks.

    python3 bench/peer_flow.py [BENCH_FLOW]      (build/release/bin/bench_flow)

The network of bench/graphs at 1,000 and 10,000 calls, at the price of the chord. Our time includes
building the network; networkx's is the cut alone. Both are processor time of one thread, ours the
least of 20 runs. The values of both cuts must agree. Needs networkx.
"""
import os, subprocess, sys, time

import networkx as nx
from networkx.algorithms.flow import preflow_push


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bench = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build/release/bin/bench_flow")
    wrong = False
    print(f"{'graph':<12}{'calls':>8}{'arcs':>8}{'ours ms':>10}{'networkx ms':>13}{'ratio':>8}  same value")
    for kind in ("transformer", "layered", "wide"):
        for calls in (1000, 10000):
            text = subprocess.run([bench, "network", kind, str(calls)], stdout=subprocess.PIPE, check=True, text=True).stdout
            first, *arcs = text.splitlines()
            value, ours = int(first.split()[0]), float(first.split()[1])
            capacities = {}
            for line in arcs:
                tail, head, capacity = line.split()
                old = capacities.get((tail, head), 0)
                capacities[tail, head] = None if capacity == "inf" or old is None else old + int(capacity)
            net = nx.DiGraph()
            for (tail, head), capacity in capacities.items():
                net.add_edge(tail, head, **({} if capacity is None else {"capacity": capacity}))
            begin = time.process_time()
            got = nx.minimum_cut(net, "s", "t", flow_func=preflow_push)[0]
            theirs = 1e3 * (time.process_time() - begin)
            wrong |= got != value
            print(f"{kind:<12}{calls:>8}{len(arcs):>8}{ours:>10.3f}{theirs:>13.1f}{theirs / ours:>8.0f}  {'yes' if got == value else 'NO'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
