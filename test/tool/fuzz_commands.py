#!/usr/bin/env python3
"""Random command lines of every command over odd files, options and outputs: make fuzz-commands N=1000 SEED=0.

    python3 test/tool/fuzz_commands.py CLEAVE [N [SEED]] [--only K] [--jobs J] [--unlimited]

Command line K of a seed is always the same; --only K runs it alone and prints it. Each must end with status 0, 1 or 2
(COMMAND's meaning), within its time and memory, with one message where it fails and one JSON object where that is asked
for, and with every output complete or as it was; with a stdout that is full, closed or has no reader it must not end well
if it had something to say. --unlimited leaves the limits out, for builds with sanitizers. Exit status: 0 no fault, 1 some.
"""
import argparse, multiprocessing, os, random, resource, shlex, shutil, subprocess, sys, tempfile
from types import SimpleNamespace
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "fuzz"))
from corpus import Corpus
from options import commands, random_line
from verdict import faults, snapshot
ROOT = os.path.dirname(os.path.dirname(HERE))
CPU_SECONDS, WALL_SECONDS, BYTES = 20, 240, 6 << 30  # addresses: LLVM and stacks of threads take most of them
LARGEST_FILE = 64 << 20


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Files:
    """What a command line may name: the corpus, which no command may change, and a folder of its own."""
    def __init__(self, corpus, folder, names):
        self.corpus, self.own, self.names = corpus, folder, names
        self.well = False  # whether mostly such files are drawn as are well

    def readable(self, kind, rng):
        draw = rng.random() * (0.87 if self.well else 1)
        if draw < 0.72: return self.corpus.real(kind, rng)
        if draw < 0.84:  # one that the command may overwrite, if it is so bold
            path = os.path.join(self.own, os.path.basename(self.corpus.real(kind, rng)))
            shutil.copyfile(os.path.join(self.corpus.folder, os.path.basename(path)), path)
            return path
        if draw < 0.93: return self.corpus.spoilt(kind, rng, self.own)
        if draw < 0.98: return self.corpus.odd(rng)
        return self.corpus.real(rng.choice(sorted(self.corpus.files)), rng)

    def writable(self, extension, rng, reads):
        own = [r for r in reads if r.startswith(self.own)]
        there = os.path.join(self.own, "there" + extension)
        with open(there, "w") as f: f.write("what was there before\n")
        link = os.path.join(self.own, "link" + extension)
        if not os.path.lexists(link): os.symlink(there, link)
        return rng.choice([os.path.join(self.own, f"new{k}{extension}") for k in (0, 0, 1, 2)] + [there, there, link, "-", "-", "/dev/full", "/dev/null",
                          "/dev/stdout", "/proc/x" + extension, self.own, os.path.join(self.own, "no", "o" + extension), ""] + own * 3)

    def folder(self, rng):
        return rng.choice([os.path.join(self.own, "d"), os.path.join(self.own, "d", "e"), "/dev/null", "/proc/no", "", self.own, os.path.join(self.own, "there.clv")])


def run(cleave, words, stdin, stdout, cwd, limited):
    """stdout: pipe, full, closed, gone (a pipe without a reader)."""
    out, closing, ends = subprocess.PIPE, (), []
    if stdout == "full": ends = [os.open("/dev/full", os.O_WRONLY)]
    if stdout == "gone":
        reader, writer = os.pipe()
        os.close(reader)
        ends = [writer]
    if ends: out = ends[0]
    def begin():
        if limited: limit()
        if stdout == "closed": os.close(1)
    try:
        p = subprocess.Popen([cleave, *words], stdin=stdin, stdout=out, stderr=subprocess.PIPE, cwd=cwd, preexec_fn=begin, restore_signals=True,
                             env={**os.environ, "XDG_CACHE_HOME": os.path.join(cwd, "caches")})  # never the cache of who runs this
        try: output, messages = p.communicate(timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            p.kill()
            output, messages = p.communicate()
            return SimpleNamespace(status="none within %d s" % WALL_SECONDS, stdout=None, stderr=messages.decode(errors="replace"))
    finally:
        for end in ends: os.close(end)
    return SimpleNamespace(status=p.returncode, stdout=output.decode(errors="replace") if stdout == "pipe" else None, stderr=messages.decode(errors="replace"))


def one(state, k):
    """Runs command line k; (its words, its faults, its status)."""
    rng = random.Random(f"{state.seed}:{k}")
    own = tempfile.mkdtemp(dir=state.folder)
    try:
        files = Files(state.corpus, own, state.names)
        line = random_line(state.commands[rng.choice(sorted(state.commands))], rng, files)
        stdout = rng.choice(["pipe"] * 9 + ["full", "closed", "gone"])
        from_file = files.readable(rng.choice(["graph", "graph", "remat", "buffers", "text", "tensors"]), rng)
        if not os.path.isfile(from_file) or not os.access(from_file, os.R_OK): from_file = "/dev/null"
        before = {**state.before, **snapshot(own)}
        def ran_with(how):
            with open(from_file, "rb") as stdin: return run(state.cleave, line.words, stdin, how, own, state.limited)
        ran = ran_with(stdout)
        ran.command, ran.json = line.words[0], "--json" in line.words[1:] and line.words[1] not in ("-h", "--help")
        ran.given = "".join(f"{w} " for w in line.words)
        for path in line.reads + [from_file]:
            if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                try:
                    with open(path, errors="replace") as f: ran.given += f.read()
                except OSError: pass
        ran.writes, ran.folders = [os.path.join(own, w) for w in line.writes], [os.path.join(own, f) for f in line.folders]
        ran.writes += [os.path.realpath(w) for w in ran.writes]
        ran.lost = ""
        after = {**snapshot_of_corpus(state), **snapshot(own)}
        check = lambda path: subprocess.run([state.cleave, "check", path], capture_output=True, timeout=WALL_SECONDS).returncode
        found = faults(ran, before, after, check)
        if stdout != "pipe" and ran.status == 0:
            whole = ran_with("pipe")
            if whole.status == 0 and whole.stdout: found.append(f"stdout {stdout}: status 0, though it lost {whole.stdout[:60]!r}")
        return [stdout] + line.words, found, ran.status
    finally:
        shutil.rmtree(own, ignore_errors=True)


def snapshot_of_corpus(state):
    """Only times and sizes are looked at each time."""
    now = times(state.corpus.folder)
    return state.before if now == state.times else snapshot(state.corpus.folder)


def times(folder):
    return {e.path: (e.stat(follow_symlinks=False).st_mtime_ns, e.stat(follow_symlinks=False).st_size) for e in os.scandir(folder)}


state = None
def in_worker(k): return k, *one(state, k)


def main():
    global state
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("cleave")
    p.add_argument("n", nargs="?", type=int, default=1000)
    p.add_argument("seed", nargs="?", type=int, default=0)
    p.add_argument("--only", type=int)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--unlimited", action="store_true")
    a = p.parse_args()
    cleave = os.path.abspath(a.cleave)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(cleave, os.path.join(folder, "corpus"), ROOT, random.Random(a.seed))
        names = [l.split()[2] for l in subprocess.run([cleave, "opt", "--list"], capture_output=True, text=True).stdout.splitlines() if len(l.split()) > 4]
        state = SimpleNamespace(cleave=cleave, folder=folder, corpus=corpus, names=names, commands=commands(cleave), seed=a.seed, limited=not a.unlimited,
                                before=snapshot(corpus.folder), times=times(corpus.folder))
        wrong, statuses, tried = 0, {}, {name: [0, 0] for name in state.commands}  # lines, and how many ended well
        lines = [a.only] if a.only is not None else range(a.n)
        with multiprocessing.get_context("fork").Pool(a.jobs) as pool:
            for k, words, found, status in pool.imap_unordered(in_worker, lines):
                statuses[status] = statuses.get(status, 0) + 1
                tried[words[1]][0] += 1
                tried[words[1]][1] += status == 0
                if a.only is not None: print(f"stdout {words[0]}:", shlex.join(words[1:]), "-> status", status)
                if not found: continue
                wrong += 1
                print(f"line {k} of seed {a.seed}, stdout {words[0]}: cleave {shlex.join(words[1:])[:600]}")
                for f in found: print("   ", f)
        print(f"{len(lines)} command lines from seed {a.seed}: {wrong} with a fault; statuses " + ", ".join(f"{s}: {c}" for s, c in sorted(statuses.items(), key=str)))
        print("ended well: " + ", ".join(f"{name} {well} of {n}" for name, (n, well) in sorted(tried.items()) if n))
        if any(n >= 50 and well < n // 10 for n, well in tried.values()): sys.exit("of a command nearly no line ends well, so that little is tried")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
