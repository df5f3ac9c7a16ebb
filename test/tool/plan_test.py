#!/usr/bin/env python3
"""cleave plan: tables of buffers.

    python3 test/tool/plan_test.py CLEAVE_BINARY
"""
import json, os, unittest

from command_case import Case, cleave

BUFFERS = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"


class Plan(Case):
    def rows(self, text): return [line.split(",") for line in text.splitlines()]

    def test_offsets_are_added(self):
        out = self.path("out.csv")
        r = cleave("plan", self.file("b.csv", BUFFERS), "--json", "-o", out)
        self.assertEqual(r.returncode, 0, r.stderr)
        report = json.loads(r.stdout)
        self.assertEqual((report["height"], report["lower_bound"], report["optimal"]), (12, 12, True))
        self.assertGreaterEqual(report["solve_ms"], 0)
        with open(out) as f: rows = self.rows(f.read())
        self.assertEqual(rows[0], ["id", "lower", "upper", "size", "offset"])
        self.assertEqual([",".join(r[:4]) for r in rows], BUFFERS.splitlines())
        buffers = [tuple(map(int, r[1:])) for r in rows[1:]]
        for i, (l, u, size, at) in enumerate(buffers):
            self.assertTrue(0 <= at <= 12 - size)
            for l2, u2, size2, at2 in buffers[:i]:
                self.assertTrue(u <= l2 or u2 <= l or at + size <= at2 or at2 + size2 <= at)

    def test_columns_may_come_in_any_order(self):
        text = "size,note,upper,id,lower\r\n7,x,2,a,0\r\n\r\n5, y ,3,b,1\r\n"
        r = cleave("plan", "-", "-o", "-", stdin=text)
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = self.rows(r.stdout)
        self.assertEqual(rows[0][-1], "offset")
        self.assertEqual(sorted((int(r[0]), int(r[-1])) for r in rows[1:]) in ([(5, 7), (7, 0)], [(5, 0), (7, 5)]), True)

    def test_a_capacity_is_kept_or_refused_with_the_best_height(self):
        file = self.file("b.csv", BUFFERS)
        self.assertEqual(cleave("plan", file, "--capacity", "12B").returncode, 0)
        r = cleave("plan", file, "--capacity", 11, "--json", "-o", self.path("none.csv"))
        self.refused(r, 1, "11", "12")
        self.assertEqual(json.loads(r.stdout)["height"], 12)
        self.assertFalse(os.path.exists(self.path("none.csv")))
        for size in ("-1", "x", "12 apples", "", "9" * 30):
            self.refused(cleave("plan", file, f"--capacity={size}"), 1, "capacity")

    def test_alignment(self):
        r = cleave("plan", self.file("b.csv", BUFFERS), "--alignment", 64, "--json")
        self.assertEqual(json.loads(r.stdout)["height"], 192)
        self.refused(cleave("plan", self.file("b.csv", BUFFERS), "--alignment", 0), 1, "alignment 0")

    def test_bad_tables_are_refused_with_their_line(self):
        head = "id,lower,upper,size\n"
        for text, parts in (("", ["is empty"]), (head, ["no buffer"]), ("id,lower,upper\na,0,1\n", [":1:", "`size`"]),
                            ("id,lower,upper,size,size\na,0,1,2,3\n", [":1:", "twice"]), (head + "a,0,1,x\n", [":2:", "no integer"]),
                            (head + "a,0,1,4\nb,0,1.5,4\n", [":3:", "upper"]), (head + "a,0,1,-4\n", [":2:", "negative"]),
                            (head + "a,5,5,4\n", [":2:", "not below"]), (head + "a,0,1,4\na,1,2,4\n", [":3:", "given twice", "line 2"]),
                            (head + f"a,0,1,{2**62}\nb,4,5,1\n", [":3:", "2^62"]), (head + f"a,0,1,{2**64}\n", [":2:", "64 bits"]),
                            (head + "a,0,1\n", [":2:", "3 fields"]), (head + "a,0,1,4,5\n", [":2:", "5 fields"]),
                            (head + ",0,1,4\n", [":2:", "id is empty"]), (head + "a,,1,4\n", [":2:", "lower"]),
                            ("id,lower,upper,size,offset\na,0,1,4,0\n", [":1:", "offset"]), (b"\x00\xff" * 99, [":1:", "no column"])):
            r = cleave("plan", self.file("bad.csv", text))
            self.refused(r, 1, "bad.csv", *parts)
            self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        self.refused(cleave("plan", self.path("absent.csv")), 1, "absent.csv")


if __name__ == "__main__":
    unittest.main()
