#!/usr/bin/env python3
"""cleave cache: what is in the cache on disk, and making it smaller.

    python3 test/tool/cache_test.py CLEAVE_BINARY

Entries are written here as src/cache/entry.h draws them, so that the format stays what it is.
"""
import hashlib, hmac, json, os, struct, unittest

from command_case import Case, cleave

KEYS = ["entries", "bytes", "hits", "misses", "bypasses", "corrupt", "removed"]
VERSION, UNIT = 1, 1


class Cache(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")

    def make(self, entries=0):
        """A cache with entries of 100 bytes, entry k last used k hours ago."""
        os.mkdir(self.cache, 0o700)
        self.secret = os.urandom(32)
        self.put("key", self.secret)
        os.chmod(os.path.join(self.cache, "key"), 0o600)
        return [self.entry(f"key {k}".encode(), 100, k) for k in range(entries)]

    def put(self, name, data):
        with open(os.path.join(self.cache, name), "wb") as f: f.write(data)
        return os.path.join(self.cache, name)

    def entry(self, key, size, hours):
        name = hashlib.sha256(struct.pack("<II", VERSION, UNIT) + key).hexdigest()
        body = b"clvcache" + struct.pack("<IIQQ", VERSION, UNIT, len(key), size - 64 - len(key))
        body += key + bytes(size - 64 - len(key))
        os.makedirs(os.path.join(self.cache, name[:2]), 0o700, exist_ok=True)
        path = self.put(os.path.join(name[:2], name), body + hmac.digest(self.secret, body, "sha256"))
        then = os.stat(path).st_mtime - 3600 * hours
        os.utime(path, (then, then))
        return path

    def report(self, *words):
        r = cleave("cache", *words, "--cache", self.cache, "--json")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(list(json.loads(r.stdout)), KEYS)
        return json.loads(r.stdout)

    def test_what_is_there_is_counted(self):
        self.make(3)
        self.put("totals", b"cleave-cache-totals 1\nhits 5\nmisses 4\ncorrupt 1\nbypass 2 a custom operator\n")
        self.assertEqual(self.report("stats"), dict(zip(KEYS, (3, 300, 5, 4, {"a custom operator": 2}, 1, 0))))
        text = cleave("cache", "stats", "--cache", self.cache).stdout
        for part in (self.cache, "3 entries, 300 bytes", "5 hits, 4 misses, 1 corrupt", "2 without the cache: a custom operator"): self.assertIn(part, text)

    def test_verify_removes_what_is_wrong(self):
        paths = self.make(4)
        self.assertEqual(self.report("verify")["corrupt"], 0)
        with open(paths[0], "r+b") as f:
            f.seek(50)
            f.write(b"x")
        os.replace(paths[2], paths[1])
        report = self.report("verify")
        self.assertEqual((report["entries"], report["corrupt"], report["removed"]), (1, 2, 2))
        self.assertEqual([os.path.exists(p) for p in paths], [False, False, False, True])
        self.assertEqual((self.report("verify")["corrupt"], self.report("stats")["corrupt"]), (0, 2))

    def test_prune_keeps_what_was_used_last(self):
        paths = self.make(5)
        report = self.report("prune", "--to", "250B")
        self.assertEqual((report["entries"], report["bytes"], report["removed"]), (2, 200, 3))
        self.assertEqual([os.path.exists(p) for p in paths], [True, True, False, False, False])
        self.assertEqual(self.report("prune", "--to", "512MiB")["removed"], 0)

    def test_clear_removes_entries_and_counts_and_nothing_else(self):
        self.make(3)
        self.put("totals", b"cleave-cache-totals 1\nhits 5\n")
        notes = self.put("notes", b"mine")
        self.assertEqual(self.report("clear"), dict(zip(KEYS, (0, 0, 0, 0, {}, 0, 3))))
        self.assertEqual(sorted(n for n in os.listdir(self.cache) if len(n) > 2), ["key", "notes"])
        self.assertTrue(os.path.exists(notes))

    def test_no_cache_is_an_empty_one_and_stays_none(self):
        for words in (["stats"], ["verify"], ["prune", "--to", "0"], ["clear"]):
            self.assertEqual(self.report(*words), dict(zip(KEYS, (0, 0, 0, 0, {}, 0, 0))))
        self.assertFalse(os.path.exists(self.cache))
        os.mkdir(self.cache)
        self.report("clear")
        self.assertEqual(os.listdir(self.cache), [])

    def test_the_folder_is_the_users_unless_it_is_named(self):
        self.cache = os.path.join(self.folder.name, "cleave")
        self.make(2)
        home = self.path("home")
        os.makedirs(os.path.join(home, ".cache"))
        os.symlink(self.cache, os.path.join(home, ".cache", "x"))
        def entries(**env):
            return json.loads(cleave("cache", "stats", "--json", env=env).stdout)["entries"]
        self.assertEqual(entries(XDG_CACHE_HOME=self.folder.name, HOME=home), 2)
        self.assertEqual(entries(XDG_CACHE_HOME="relative", HOME=home), 0)
        os.rename(self.cache, os.path.join(home, ".cache", "cleave"))
        self.assertEqual(entries(HOME=home), 2)
        self.refused(cleave("cache", "stats", env={}), 1, "HOME", "--cache DIR")

    def test_what_cant_be_trusted_or_understood_is_refused(self):
        self.make(1)
        os.chmod(self.cache, 0o777)
        self.refused(cleave("cache", "stats", "--cache", self.cache), 1, self.cache, "chmod go-w")
        os.chmod(self.cache, 0o700)
        os.symlink(self.cache, self.path("link"))
        self.refused(cleave("cache", "clear", "--cache", self.path("link")), 1, "symbolic link")
        self.refused(cleave("cache", "stats", "--cache", self.text), 1, "Not a directory")
        self.refused(cleave("cache"), 1, "ACTION")
        self.refused(cleave("cache", "stat"), 1, "did you mean stats?")
        self.refused(cleave("cache", "prune", "--cache", self.cache), 1, "--to SIZE")
        self.refused(cleave("cache", "clear", "--to", "1MiB"), 1, "of prune alone")
        for size in ("-1", "x", "50%"): self.refused(cleave("cache", "prune", f"--to={size}", "--cache", self.cache), 1, "--to")
        self.assertEqual(self.report("stats")["entries"], 1)


if __name__ == "__main__":
    unittest.main()
