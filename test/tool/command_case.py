"""What the tests of the `cleave` command share: the command, a folder for each test, files in it.

Each test is called with the command's path: python3 test/tool/train_test.py build/release/bin/cleave.
With CLEAVE_TEST_TARGET=x86-64-v3 every command that takes --target and is given neither that nor --options gets that one.
"""
import json, os, platform, random, struct, subprocess, sys, tempfile, unittest

CLEAVE = os.path.abspath(sys.argv.pop(1))
TARGET = os.environ.get("CLEAVE_TEST_TARGET")
# Then a command takes about ten times as long, and can't be started again by itself.
EMULATED = os.path.basename(os.path.dirname(CLEAVE)) == "emulated"
TAKES_TARGET = ("run", "compile", "kernels", "partition", "frontier", "train")
# Of the command, which may run in an emulator: the targets that it compiles for, the least first, and those it plans for alone.
ARCHITECTURE = os.environ.get("CLEAVE_TEST_ARCHITECTURE", platform.machine())
TARGETS, FOREIGN = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"), ("aarch64",)
if ARCHITECTURE == "aarch64": TARGETS, FOREIGN = FOREIGN, TARGETS


def architecture(target): return "aarch64" if target == "aarch64" else "x86-64"
MLP = """graph @main(%w: param f32[3,4] grad, %b: param f32[3] grad, %x: input f32[2,4]) {
  %t = permute(%w; dims=[1,0])
  %y = addmm(%b, %x, %t)
  %z = relu(%y)
  return %z
}
"""
CONTRADICTION = """graph @main(%x: input f32[4,4] grad, %w: param f32[4,4] grad) {
  %m = mm(%x, %w) !recompute(must_recompute, ac=1)
  %v = view(%m; size=[4,4]) !recompute(must_save)
  %s = mm(%v, %w)
  return %s
}
"""
CHAIN = """graph @main(%x: input f32[64,64] grad, %w: input f32[64,64], %rng: rng_state i64[2]) {
  %a0 = cos(%x)
  %d, %m = native_dropout(%a0, %rng; p=0.3, train=true, stream=1)
""" + "".join(f"  %p{k} = mm(%{'d' if k == 1 else f'a{k - 1}'}, %w)\n  %a{k} = cos(%p{k})\n" for k in range(1, 12)) + "  %s = sum(%a11; dim=[])\n  return %s\n}\n"
TINY = ["--layers", "2", "--width", "32", "--heads", "2", "--context", "16", "--batch", "3", "--sample", "0"]


# Of this test alone, so that no test finds what another one compiled, or writes into a home.
CACHE = tempfile.TemporaryDirectory(prefix="cleave_cache_")
os.environ["XDG_CACHE_HOME"] = CACHE.name


def targeted(args):
    if TARGET and args and args[0] in TAKES_TARGET and not any(str(a).startswith(("--target", "--options")) for a in args):
        return [*args, "--target", TARGET]
    return args


def cleave(*args, stdin=None, **kw):
    args = targeted(args)
    return subprocess.run([CLEAVE, *map(str, args)], input=stdin, capture_output=True, text=True,
                          timeout=1800 if EMULATED else 120, **kw)


def losses(result):
    return [json.loads(l).get("loss") for l in result.stdout.splitlines() if '"loss"' in l]


def contents(path):
    with open(path, "rb") as f: return f.read()


def tensors(path):
    """Name to list of f32 numbers of a .safetensors file."""
    data = contents(path)
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, e in json.loads(data[8:8 + n]).items():
        if name == "__metadata__": continue
        raw = data[8 + n + e["data_offsets"][0]:8 + n + e["data_offsets"][1]]
        out[name] = struct.unpack("<%df" % (len(raw) // 4), raw) if e["dtype"] == "F32" else raw
    return out


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.text = self.file("book.txt", "".join(random.Random(1).choices("abc de\n", k=4000)))

    def file(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb" if isinstance(data, bytes) else "w") as f: f.write(data)
        return path

    def path(self, name): return os.path.join(self.folder.name, name)

    def refused(self, result, status, *parts):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("cleave: "), result.stderr)
        for p in parts: self.assertIn(p, result.stderr)
