"""Which changes become mutants: spread over files, rules and classes, the same for a seed."""
import collections
import hashlib
import pickle

from mutation import places


class Sources:
    """The operator files and their changes; those found not to compile are remembered in `build`."""

    def __init__(self, root, build, flags):
        self.root, self.build, self.flags = root, build, flags
        self.texts = {p.name: p.read_text() for p in sorted((root / "src/op").glob("*.cpp"))
                      if p.name != "registry.cpp"}
        self.refused = self.known("refused", set)

    def known(self, kind, empty):
        memory = self.build / f"{kind}.pickle"
        return pickle.loads(memory.read_bytes()) if memory.exists() else empty()

    def keep(self, kind, known):
        (self.build / f"{kind}.pickle").write_bytes(pickle.dumps(known))

    def path(self, name):
        return self.root / "src/op" / name

    def changes(self):
        """All changes by file; those of an unchanged file come from the last run."""
        known, out = self.known("changes", dict), {}
        rules = hashlib.sha1((self.root / "script/mutation/places.py").read_bytes()).hexdigest()
        for name, text in self.texts.items():
            key = (name, hashlib.sha1(text.encode()).hexdigest(), rules)
            if key not in known:
                known[key] = places.changes(self.path(name), text, self.flags)
                self.keep("changes", known)
            out[name] = known[key]
        return out

    def text_of(self, name, chosen):
        return "extern bool cleave_mutant(int);\n" + places.mutated(self.texts[name], chosen)

    def refuse(self, changes):
        self.refused.update(c.key() for c in changes)
        self.keep("refused", self.refused)


def digest(*parts):
    return hashlib.sha1(" ".join(map(str, parts)).encode()).digest()


def overlaps(a, b):
    return a.start < b.end and b.start < a.end


def draw(sources, count, seed, equal):
    """`count` changes that aren't in `equal`, and those of `equal` met on the way.

    The files take turns; the turn says which class and rule are wanted first. What a file gives
    depends on no other file, so that an edit of one leaves the mutants of the others.
    """
    pool = {name: changes for name, changes in sources.changes().items() if changes}
    names = sorted(pool, key=lambda name: digest(seed, name))
    drawn, taken, skipped = collections.defaultdict(list), [], []
    for turn in range(20 * count):
        if len(taken) == count: break
        name = names[turn % len(names)]
        spin = digest(seed, turn)
        kind, rule = places.CLASSES[turn % len(places.CLASSES)], places.RULES[spin[0] % len(places.RULES)]
        twins = collections.Counter()

        def order(c):
            twins[c.key()] += 1
            return c.kind != kind, c.rule != rule, digest(seed, turn, c.key(), twins[c.key()])

        for c in sorted(pool[name], key=order):
            if c.key() in sources.refused or any(overlaps(c, other) for other in drawn[name]): continue
            drawn[name].append(c)
            if c.key() in equal:
                skipped.append(c)
                continue
            taken.append(c)
            break
    numbered = collections.defaultdict(list)
    for number, c in enumerate(taken, 1): numbered[c.file].append((number, c))
    return taken, skipped, numbered
