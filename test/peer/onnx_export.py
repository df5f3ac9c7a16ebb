#!/usr/bin/env python3
"""Every sample of every operator, written as ONNX: accepted by onnx.checker, run by onnxruntime, equal to the oracle.

    onnx_export.py PROGRAM [--python PYTHON] [--first N] [--opset N] [--goal N] [--list] [OPERATOR ...]

PROGRAM is write_onnx_samples. Prints how many operators have all samples passed, some refused by name, all refused;
fails where a sample is wrong or fewer than --goal operators have one that passes. Where onnxruntime has no kernel for a
dtype (Erf of f64), onnx's reference evaluator runs the model instead, and is counted apart. Skipped (exit status 77) without onnx, onnxruntime and numpy.
"""
import argparse, collections, json, os, struct, subprocess, sys, tempfile


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("operators", nargs="*")
    p.add_argument("--python", default=os.environ.get("CLEAVE_ONNX_PYTHON", sys.executable))
    p.add_argument("--first", type=int, default=0, help="only so many samples of each operator")
    p.add_argument("--opset", type=int, default=21)
    p.add_argument("--goal", type=int, default=0)
    p.add_argument("--list", action="store_true", help="print what became of each operator")
    return p.parse_args()


ARGS = parse()
if ARGS.python != sys.executable and not os.environ.get("CLEAVE_ONNX_STARTED"):
    os.environ["CLEAVE_ONNX_STARTED"] = "1"
    os.execvp(ARGS.python, [ARGS.python] + sys.argv)
try:
    import numpy as np, onnx, onnxruntime
    from onnx import TensorProto, helper
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)
onnxruntime.set_default_logger_severity(4)

DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
          "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}
TOLERANCE = {"F64": (1e-7, 1e-7), "F32": (1.3e-6, 1e-5), "BF16": (1.6e-2, 1e-5), "F16": (1e-3, 1e-5)}


def read_tensors(path):
    """{name: (dtype, array)}; bf16 as float32."""
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    out = {}
    for name, e in head.items():
        if name == "__metadata__":
            continue
        raw = data[e["data_offsets"][0]:e["data_offsets"][1]]
        if e["dtype"] == "BF16":
            a = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            a = np.frombuffer(raw, DTYPES[e["dtype"]])
        out[name] = e["dtype"], a.reshape(e["shape"])
    return out


def without_bf16(model):
    """The model with f32 in the place of bf16 at its inputs and outputs: numpy has no such type."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    before, after = [], []
    for v in m.graph.input:
        if v.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            v.type.tensor_type.elem_type = TensorProto.FLOAT
            before.append(helper.make_node("Cast", [v.name + "/wide"], [v.name], to=TensorProto.BFLOAT16))
            v.name += "/wide"
    for v in m.graph.output:
        if v.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            v.type.tensor_type.elem_type = TensorProto.FLOAT
            after.append(helper.make_node("Cast", [v.name], [v.name + "/wide"], to=TensorProto.FLOAT))
            v.name += "/wide"
    nodes = before + list(m.graph.node) + after
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    return m


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model if isinstance(model, str) else model.SerializeToString(), options, ["CPUExecutionProvider"])


def run(model, given):
    """(results, whether onnxruntime gave them)"""
    names = [v.name for v in model.graph.input]
    inputs = {n: given[n.removesuffix("/wide")] for n in names}
    try:
        return session_of(model).run(None, inputs), True
    except Exception as e:
        if "NOT_IMPLEMENTED" not in str(e):
            raise
    from onnx.reference import ReferenceEvaluator
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, inputs), False


def difference(dtype, got, want):
    got = np.asarray(got)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if dtype not in TOLERANCE:
        bad = np.argwhere(got != want)
        return "" if not len(bad) else f"at {bad[0].tolist()}: {got[tuple(bad[0])]}, expected {want[tuple(bad[0])]}"
    rtol, atol = TOLERANCE[dtype]
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        atol *= max(1, finite.max() if finite.size else 0)
        fits = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= atol + rtol * np.abs(b))
    bad = np.argwhere(~fits)
    return "" if not len(bad) else f"at {bad[0].tolist()}: {a[tuple(bad[0])]}, expected {b[tuple(bad[0])]}"


def outcome_of(path, given, wanted):
    """("passed" | "evaluated" | "wrong", why)"""
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        results, by_runtime = run(without_bf16(model), given)
    except Exception as e:
        return "wrong", f"{type(e).__name__}: {str(e)[:500]}"
    if len(results) != len(wanted):
        return "wrong", f"{len(results)} results, expected {len(wanted)}"
    for k, ((dtype, want), got) in enumerate(zip(wanted, results)):
        why = difference(dtype, got, want)
        if why:
            return "wrong", f"result {k} {why}"
    return ("passed" if by_runtime else "evaluated"), ""


def check_samples(folder):
    command = [ARGS.program, folder, str(ARGS.first), str(ARGS.opset)] + ARGS.operators
    written = subprocess.run(command, capture_output=True, text=True)
    wrong = [written.stderr] if written.returncode else []
    table = {}
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".json")):
        op = file.removesuffix(".json")
        counts = table[op] = collections.Counter()
        tensors = read_tensors(os.path.join(folder, op + ".safetensors"))
        for sample in json.load(open(os.path.join(folder, file))):
            k = sample["sample"]
            if not sample["written"]:
                counts["refused"] += 1
                counts["why: " + sample["why"].split(" x ", 1)[-1].split("\n")[0]] += 1
                continue
            given = {n.split(".", 2)[2]: a for n, (_, a) in tensors.items() if n.startswith(f"{k}.in.")}
            wanted = [tensors[f"{k}.out.{j}"] for j in range(len([n for n in tensors if n.startswith(f"{k}.out.")]))]
            outcome, why = outcome_of(os.path.join(folder, f"{op}.{k}.onnx"), given, wanted)
            counts[outcome] += 1
            if outcome == "wrong":
                wrong.append(f"{op}, sample {k}: {sample['call']}\n    {why}")
    return table, wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        table, wrong = check_samples(folder)
    total = collections.Counter()
    for counts in table.values():
        total.update({k: n for k, n in counts.items() if not k.startswith("why")})
    by = collections.defaultdict(list)
    for op, counts in table.items():
        kind = "wrong" if counts["wrong"] else "refused" if not counts["passed"] and not counts["evaluated"] else \
            "evaluated" if not counts["passed"] else "part" if counts["refused"] else "passed"
        by[kind].append(op)
        if ARGS.list:
            why = "; ".join(k[5:] for k in counts if k.startswith("why"))
            print(f"{op:50} {kind:10} {counts['passed']:4} passed {counts['evaluated']:4} evaluated {counts['refused']:4} refused  {why}")
    print(f"operators {len(table):5}   samples")
    print(f"passed    {len(by['passed']):5}   {total['passed']:5}   by onnxruntime")
    print(f"          {len(by['evaluated']):5}   {total['evaluated']:5}   by onnx's reference evaluator: onnxruntime has no kernel for the dtype")
    print(f"in part   {len(by['part']):5}           the other samples are refused by name")
    print(f"refused   {len(by['refused']):5}   {total['refused']:5}   by name")
    print(f"wrong     {len(by['wrong']):5}   {total['wrong']:5}")
    print("refused: " + " ".join(by["refused"]))
    for text in wrong:
        print(f"wrong: {text}")
    covered = len(by["passed"]) + len(by["part"])
    if covered < ARGS.goal:
        print(f"{covered} operators are covered, expected {ARGS.goal}")
    return 1 if wrong or covered < ARGS.goal else 0


if __name__ == "__main__":
    sys.exit(main())
