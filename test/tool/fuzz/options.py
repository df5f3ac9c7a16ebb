"""The commands and their options, as `cleave help` tells them, and random command lines of them.

    commands(cleave)                       name -> Command(positionals, options, forms)
    random_line(command, random, files)    Line(words, reads, writes, folders): words for the shell, and what they name

An option that is new enters by itself: its values come from its type and the words of its own help. Those that name a
file, or ask for work without a bound, stand in tables below; so do values that are well, for most lines are to do something.
"""
import re, subprocess
from dataclasses import dataclass, field

READS = {"--in": "tensors", "--rule": "rule", "--text": "text", "--resume": "tensors", "--config": "config", "--tokenizer": "tokenizer", "--jsonl": "jsonl", "--tokens": "text", "--images": "tensors",
         "--held-out": "text"}
WRITES = {"--out", "-o", "--forward", "--backward", "--save-init", "--save-graph", "--trace", "--loss-svg"}
FOLDERS = {"--dump", "--plot", "--cache", "--draw", "--repro", "--save"}
# Positionals that are no graph.
KINDS = {"remat": "remat", "plan": "buffers"}
WRITTEN = {"run": ".safetensors", "train": ".safetensors", "plan": ".csv", "tune": ".target", "build": ".so", "report": ".html", "draw": ".svg", "lower": ".safetensors"}  # others write graphs
OWN_WRITTEN = {"--trace": ".json", "--save-graph": ".clv", "--loss-svg": ".svg"}  # of an option, whichever command has it
# Positionals that name no file.
NO_FILES = {"ACTION"}
# As much work as they say: only few of it is asked for.
WORK = {"--repeat", "--steps", "--moves", "--time", "--sample", "--layers", "--width", "--heads", "--batch", "--context", "--threads", "--accumulate", "--epochs"}
# What a command is given, in one of several forms, so that lines of it do something, and none for long. @KIND: such a file.
FORMS = {
    "run": [["--random"], ["--random", "--grad"], ["--random", "--grad", "--mode", "pytorch"], ["--random", "--engine", "reference"]],
    "partition": [[], ["--mode", "pytorch"], ["--mode", "pytorch", "--budget", "0.4"], ["--mode", "default"]], "kernels": [[], ["--grad"]], "report": [["--time", "0"], ["--time", "0", "--grad"], ["--time", "1", "--grad", "--mode", "pytorch"]], "cache": [[], ["--to", "1MiB"]], "build": [["--weights", "none"], ["--weights", "none", "--grad"]],
    "remat": [["--peak-percent", "100", "--moves", "300"], ["--peak-percent", "75", "--moves", "300"]],
    "reduce": [["--check", "crash"], ["--check", "wrong"], ["--check", "! test -s {}", "--limit", "5"], ["--check", "! grep -q = {}", "--limit", "5"], ["--check", "! test -s {in}", "--limit", "5"]],
    "train": [["--text", "@text", "--steps", "2", "--layers", "1", "--width", "8", "--heads", "1", "--context", "8", "--batch", "2", "--sample", "5"],
              ["--config", "@config", "--tokenizer", "@tokenizer", "--text", "@text", "--steps", "2", "--context", "8", "--batch", "2"],
              ["--config", "@config", "--tokenizer", "@tokenizer", "--jsonl", "@jsonl", "--steps", "2", "--context", "8", "--batch", "2", "--sample", "3"]],
}
WELL = {
    "--mode": ["exact", "pytorch", "default"], "--engine": ["compiled", "reference"], "--passes": ["on", "off"], "--fuse": ["on", "off"],
    "--compiler": ["automatic", "clang", "cc", "none"], "--autocast": ["bf16", "f16"], "--solver": ["dp", "greedy", "ilp"], "--budget": ["100%", "90%", "64MiB", "0.5"],
    "--estimator": ["flops", "testing", "profile"], "--ban": ["reductions=off", "used_far_apart=off,not_in_allowlist=off"], "--saved-bytes": ["64MiB", "1KiB"],
    "--peak-percent": ["100", "90%", "75.5"], "--capacity": ["none", "1MiB"], "--stage": ["pre_grad", "joint", "post_grad"], "--schedule": ["cosine", "linear", "constant"],
    "--pass": ["fold_view", "fold_view,drop_noop_view"], "--on": ["", "join_pads"], "--off": ["fold_view", ""], "--size": ["s0=8"], "--target": ["native", "x86-64-v2", "x86-64-v3"],
    "ACTION": ["stats", "verify", "prune", "clear"], "--to": ["1MiB", "0"], "--weights": ["none", "inside", "beside"], "--name": ["step"], "--by": ["module", "line", "operator"],
    "--check": ["crash", "wrong", "! grep -q = {}", "! test -s {in}"], "--options": ["", "strict=true threads=1"], "--limit": ["2", "5"], "--memory": ["4GiB"],
    "--lr": ["1e-3", "0.1"], "--final-lr": ["0", "1e-4"], "--dropout": ["0", "0.5"], "--weight-decay": ["0", "0.1"], "--clip": ["0", "1"],
    "--model": ["gpt2", "llama"], "--field": ["text", "body"], "--token-dtype": ["u16", "i32"], "--epochs": ["0.1", "1"], "--separator": ["abc"], "--masked": ["0.15"],
}
WRONG = ["", " ", "-", "--", "nonsense", "-1", "1e999", "nan", "inf", "99999999999999999999", "-9223372036854775809", "18446744073709551616",
         "0x10", "1.5", "%", "60%", "0%", "101%", "1KiB", "64MiB", "99999999999GiB", "1B", "0.5", "\x01", "ü", "a" * 5000, "a,b", "=", "s0=8", "s0=", "s0=-1"]
INTEGERS = ["0", "1", "2", "3", "7", "-1", "-7", "+2", "", "x", "1.5", "1e3", "0x10", "99999999999999999999", "-9223372036854775809", "9223372036854775808"]
LARGE = ["2147483647", "9223372036854775807", "1000000"]
FLOATS = ["0", "0.5", "1", "1e-3", "-1", "nan", "inf", "-inf", "1e999", "1e-400", "", "x", "0.1.2"]


@dataclass
class Option:
    names: list
    type: str   # TEXT INT UINT FLOAT; empty: a flag
    help: str
    required: bool = False

    @property
    def key(self): return self.names[-1]


@dataclass
class Command:
    name: str
    positionals: list = field(default_factory=list)
    options: list = field(default_factory=list)
    forms: list = field(default_factory=list)


@dataclass
class Line:
    words: list
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    folders: list = field(default_factory=list)


def text_of(cleave, *words):
    return subprocess.run([cleave, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def commands(cleave):
    names = re.findall(r"^  (\w+) {2,}\S", text_of(cleave, "help"), flags=re.M)
    found = {name: parsed(name, text_of(cleave, "help", name)) for name in names if name != "help"}
    assert len(found) > 5 and all(c.options for c in found.values()), "the form of the help has changed"
    found["help"] = Command("help", [Option(["COMMAND"], "TEXT", " ".join(found))])
    return found


def parsed(name, text):
    command, part = Command(name, forms=FORMS.get(name, [[]])), None
    for line in text.split("\nexample:\n")[0].splitlines():
        if line in ("Positionals:", "Options:"): part = line
        m = re.match(r"  (-\S+|\w+)(?: (TEXT|INT|UINT|FLOAT))?( REQUIRED)?(?: \.\.\.)?(?: {2,}(.*))?$", line)
        if part and m:
            option = Option(m[1].split(","), m[2] or "", m[4] or "", m[3] is not None)
            (command.positionals if part == "Positionals:" else command.options).append(option)
    return command


def names_a_file(option):
    return not option.key.startswith("-") and option.key not in NO_FILES or option.key in READS or option.key in FOLDERS or option.key in WRITES


def words_of(option):
    """What its help mentions: names of choices, sizes."""
    words = re.findall(r"[a-z][a-z0-9_]*|[0-9][0-9.]*(?:MiB|KiB|%)?", option.help)
    return list(dict.fromkeys(words + [w + "=off" for w in words if "_" in w]))


def values_of(option):
    if option.type in ("INT", "UINT"): return INTEGERS + ([] if option.key in WORK else LARGE)
    return FLOATS if option.type == "FLOAT" else words_of(option) + WRONG


def random_line(command, random, files):
    if command.name == "help": return Line(["help"] + random.choices(command.positionals[0].help.split() + WRONG, k=random.choice((0, 1, 1, 2))))
    line = Line([command.name])
    form = random.choice(command.forms)
    given = set()
    rate = random.choice((0, 0.05, 0.15, 0.3))
    mostly_well = files.well = random.random() < 0.75
    for option in command.positionals + command.options:
        is_asked = random.random() < (0.97 if not option.key.startswith("-") else 0.3 if option.key == "--json" else rate)
        if not option.required and (not is_asked or option.key in READS and random.random() < 0.6): continue
        if option.required and (random.random() < 0.02 or option.key in form and random.random() < 0.9): continue
        if option.key in form and random.random() < 0.7: continue
        known = WELL.get(option.key, ["1", "2", "3", "7"] if option.type in ("INT", "UINT") else []) if mostly_well else []
        for _ in range(2 if random.random() < 0.01 else 1): add(line, command, option, known, random, files)
        given.add(option.key)
    k = 0
    while k < len(form):
        words = form[k:k + 1 + (k + 1 < len(form) and not form[k + 1].startswith("--"))]
        if words[0] not in given: line.words += [known_file(w[1:], random, files, line) if w.startswith("@") else w for w in words]
        k += len(words)
    head, tail = line.words[:1], line.words[1:]
    if random.random() < 0.02: tail.insert(random.randrange(len(tail) + 1), random.choice(WRONG + ["--jsn", "-z", "--version", "--help", "-h"]))
    line.words = head + [w.replace("\0", "") for w in tail]
    return line


def known_file(kind, random, files, line):
    line.reads.append(files.readable(kind, random))
    return line.reads[-1]


def add(line, command, option, known, random, files):
    is_name = option.key.startswith("-")
    name = [random.choice(option.names)] if is_name else []
    if not option.type:
        line.words += name
        return
    value = random.choice(known) if known and random.random() < 0.95 else value_of(line, command, option, random, files)
    if name and name[0].startswith("--") and random.random() < 0.3: line.words.append(f"{name[0]}={value}")
    else: line.words += name + [value]


def value_of(line, command, option, random, files):
    key = option.key
    if key in READS or not key.startswith("-") and key not in NO_FILES:
        kind = READS.get(key) or KINDS.get(command.name, "graph")
        if command.name == "check" and random.random() < 0.3: kind = "kernels"
        path = files.readable(kind, random)
        line.reads.append(path)
        return path
    if key in WRITES:
        path = files.writable(OWN_WRITTEN.get(key) or WRITTEN.get(command.name, ".clv"), random, line.reads)
        line.writes.append(path)
        if command.name == "reduce": line.writes.append(path.removesuffix(".clv") + ".safetensors")
        return path
    if key in FOLDERS:
        path = files.folder(random)
        line.folders.append(path)
        return path
    return random.choice(files.names if option.type == "TEXT" and random.random() < 0.2 else values_of(option))
