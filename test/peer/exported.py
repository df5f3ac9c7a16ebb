#!/usr/bin/env python3
"""test/peer/exported.py CLEAVE [--keep DIR] [CASE...]: models that torch.export.save writes, run by cleave and by PyTorch.

Each case is exported twice: as torch.export.export leaves it, and taken apart by run_decompositions(). `cleave run`
reads both, weights included, with the same inputs; its results, updates of buffers and gradients (--grad: of the sum
of all floating results) are compared with those of PyTorch on a copy of the model. What is written stays in DIR.
Needs PyTorch 2.6 or later; exit status 77 without. What a version of PyTorch can't export is said, and doesn't fail.
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile

try:
    import torch
    from safetensors.torch import load_file, save_file
    from torch._export.serde.serialize import serialize
    from torch.export.experimental import _export_forward_backward
    from exported_models import CASES, JOINT, OLD, WIDE
    VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
    if VERSION < (2, 6):
        raise ImportError("PyTorch 2.6 or later is needed")
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

warnings.filterwarnings("ignore")


def real(t):
    """A complex tensor as cleave has it."""
    return torch.view_as_real(t.resolve_conj()).contiguous() if t.is_complex() else t


def in_float64(t):
    """Of the same values."""
    return t.to(torch.complex128 if t.is_complex() else torch.float64) if t.is_complex() or t.is_floating_point() else t


class NotExported(Exception):
    """This version of PyTorch doesn't write the case."""


def flat(values):
    return [v for v in torch.utils._pytree.tree_leaves(values) if v is not None]


class Case:
    def __init__(self, name, folder, cleave):
        make, inputs, self.dynamic, self.tolerance, self.train, self.grad, self.stops, run, _ = CASES[name]
        self.name, self.folder, self.cleave = name, folder, cleave
        torch.manual_seed(len(name))
        self.model = make().train(self.train)
        self.examples = inputs()
        torch.manual_seed(len(name))
        self.inputs = run()

    def wanted(self, model):
        """Results, updates of buffers by name, and gradients by name."""
        before = {k: v.clone() for k, v in model.named_buffers()}
        given = [t.clone() for t in self.inputs]
        if self.name in WIDE:
            model._apply(in_float64)
            given = list(map(in_float64, given))
        results = [real(r) if isinstance(r, torch.Tensor) else r for r in flat(model(*given))]
        grads = {}
        loss = [r.sum() for r in results if isinstance(r, torch.Tensor) and r.is_floating_point() and r.requires_grad]
        if self.grad and loss:
            try:
                sum(loss).backward()
            except RuntimeError as e:
                raise NotExported(f"it has no gradient: {e}") from e
            grads = {k: real(p.grad if p.grad is not None else torch.zeros_like(p)) for k, p in model.named_parameters()}
        return results, dict(model.named_buffers()), before, grads

    def run(self, decomposed):
        try:
            program = torch.export.export(copy.deepcopy(self.model), tuple(self.examples), dynamic_shapes=self.dynamic)
            if decomposed:
                program = program.run_decompositions()
            stem = os.path.join(self.folder, self.name + (".core" if decomposed else ""))
            torch.export.save(program, stem + ".pt2")
            torch.export.load(stem + ".pt2")
        except Exception as e:
            raise NotExported(f"{type(e).__name__}: {str(e).strip().splitlines()[0][:160]}") from e
        # What is taken apart has lost its detach() and no_grad(): it is compared with itself.
        # So is what PyTorch 2.6 and 2.7 trace, autocast aside.
        its_own = decomposed and self.stops or self.name == "autocast" and VERSION < (2, 8)
        self.reference = program.module() if its_own else copy.deepcopy(self.model)
        names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        names = [n + "_" if n in dict(self.model.state_dict()) else n for n in names]
        save_file({k: real(t).contiguous() for k, t in zip(names, self.inputs)}, stem + ".in.safetensors")
        imported = self.command("import", stem + ".pt2", "-o", stem, "--json")
        info = json.loads(imported.stdout)
        args = ["run", stem + ".pt2", "--in", stem + ".in.safetensors", "--out", stem + ".out.safetensors"]
        self.command(*args, *(["--grad"] if self.grad else []))
        return self.compare(load_file(stem + ".out.safetensors"), open(os.path.join(stem, "summary.txt")).read(), info)

    def run_joint(self):
        """Exported with its gradients: they are results of the program."""
        program = _export_forward_backward(torch.export.export(copy.deepcopy(self.model), tuple(self.inputs)))
        stem = os.path.join(self.folder, self.name + ".joint")
        torch.export.save(program, stem + ".pt2")
        save_file({s.arg.name: t for s, t in zip((s for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"),
                                                 self.inputs)}, stem + ".in.safetensors")
        self.command("run", stem + ".pt2", "--in", stem + ".in.safetensors", "--out", stem + ".out.safetensors")
        got, model = load_file(stem + ".out.safetensors"), copy.deepcopy(self.model)
        loss = model(*self.inputs)
        loss.backward()
        return max([self.difference("the loss", got["out.0"], loss.detach())] +
                   [self.difference(k, got["grad." + k], p.grad) for k, p in model.named_parameters()])

    def run_old(self, layout):
        """The same program in an older layout of archives reads to the same graph and weights."""
        program = torch.export.export(copy.deepcopy(self.model), tuple(self.examples), dynamic_shapes=self.dynamic)
        stem = os.path.join(self.folder, self.name)
        torch.export.save(program, stem + ".new.pt2")
        artifact = serialize(program)
        parts = {"2.6": ("serialized_exported_program.json", "serialized_state_dict.pt", "serialized_constants.pt"),
                 "2.8": ("m/models/model.json", "m/data/weights/model.pt", "m/data/constants/model.pt")}[layout]
        with zipfile.ZipFile(stem + ".old.pt2", "w") as z:
            if layout == "2.8":
                z.writestr("m/archive_format", "pt2")
            for name, data in zip(parts, (artifact.exported_program, artifact.state_dict, artifact.constants)):
                z.writestr(name, data)
        texts = []
        for age in ("new", "old"):
            self.command("import", f"{stem}.{age}.pt2", "-o", f"{stem}.{age}")
            texts.append([open(os.path.join(f"{stem}.{age}", f), "rb").read() for f in ("model.clv", "weights.safetensors")])
        if texts[0] != texts[1]:
            raise RuntimeError("another graph or other weights")
        return 0.0

    def command(self, *args):
        done = subprocess.run([self.cleave, *args], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[:600] or done.stdout[:600])
        return done

    def compare(self, got, summary, info):
        results, after, before, grads = self.wanted(self.reference)
        updates, places, ties = {}, [], {}
        for line in summary.splitlines():
            if line.startswith("out."):
                k, rest = line.split(None, 1)
                if " -> %" in rest:
                    updates[rest.split(" -> %")[1]] = k
                else:
                    places.append(k)
            if line.startswith("tied"):
                ties[line.split()[1]] = line.split("%")[1]
        tensors = [r for r in results if isinstance(r, torch.Tensor)]
        if len(tensors) > len(places):
            raise RuntimeError(f"{len(places)} results, PyTorch has {len(tensors)}")
        worst = 0.0
        pairs = [(k, got[k], want) for k, want in zip(places, tensors)]
        for name, value in after.items():
            if name in updates:
                pairs.append((f"update of {name}", got[updates[name]], real(value)))
            elif not torch.equal(value, before[name]):
                raise RuntimeError(f"{name} was written, and is not updated")
        for name, value in grads.items():
            pairs.append((f"gradient of {name}", got["grad." + ties.get(name, name)], value))
        for what, have, want in pairs:
            worst = max(worst, self.difference(what, have, want.detach()))
        return worst

    def difference(self, what, have, want):
        if self.name in WIDE and want.dtype == torch.float64:
            want = want.to(have.dtype)
        if have.dtype != want.dtype or have.shape != want.shape:
            raise RuntimeError(f"{what}: {have.dtype} {tuple(have.shape)}, PyTorch has {want.dtype} {tuple(want.shape)}")
        if not want.is_floating_point():
            if not torch.equal(have, want):
                raise RuntimeError(f"{what}: other integers")
            return 0.0
        have, want = have.double(), want.double()
        if not torch.equal(have.isnan(), want.isnan()):
            raise RuntimeError(f"{what}: NaN elsewhere")
        same = (have == want) | want.isnan()
        error = torch.where(same, 0, (have - want).abs()).max().item() if have.numel() else 0.0
        error /= max(1.0, torch.nan_to_num(want, 0, 0, 0).abs().max().item() if want.numel() else 0.0)
        if not error <= self.tolerance:
            raise RuntimeError(f"{what}: differs by {error:.3g}, expected {self.tolerance} at most")
        return error


def main(cleave, names):
    failed, outside = 0, 0
    kept = names[1] if names[:1] == ["--keep"] else None
    names = names[2:] if kept else names
    with tempfile.TemporaryDirectory() as scratch:
        folder = kept or scratch
        os.makedirs(folder, exist_ok=True)
        for name in names or CASES:
            runs = {name: lambda c: c.run(False)}
            if not CASES[name][-1]:
                runs[f"{name} (decomposed)"] = lambda c: c.run(True)
            if name in JOINT:
                runs[f"{name} (joint)"] = lambda c: c.run_joint()
            for layout in ("2.6", "2.8") if name in OLD and VERSION >= (2, 9) else ():
                runs[f"{name} (layout of {layout})"] = lambda c, layout=layout: c.run_old(layout)
            for label, run in runs.items():
                torch._dynamo.reset()
                try:
                    print(f"{label:<40} {run(Case(name, folder, cleave)):.2e}", flush=True)
                except NotExported as e:
                    outside += 1
                    print(f"{label:<40} not exported by PyTorch {torch.__version__}: {e}", flush=True)
                except Exception as e:
                    failed += 1
                    print(f"{label:<40} FAILED {type(e).__name__}: {str(e)[:700]}", flush=True)
    print(f"{failed} failed, {outside} not exported by PyTorch {torch.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
