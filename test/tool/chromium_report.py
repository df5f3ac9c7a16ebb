#!/usr/bin/env python3
"""A page of `cleave report` in headless Chromium: console errors, requests, labels that overlap, bytes.

    python3 test/tool/chromium_report.py PAGE.html [--picture PAGE.png]

Prints one JSON object: {"bytes", "console", "requests", "texts", "overlaps", "too_wide", "details", "load_ms"}; exit status 1 if
there is a console message, a request or an overlap. The page runs no script: it is measured in a copy that one is
added to, which opens all that is folded away first.
"""
import argparse, json, os, re, shutil, subprocess, sys, tempfile

SCRIPT = """<script>
let errors = 0, refused = 0;
addEventListener("error", () => ++errors);
addEventListener("load", () => {
  const details = document.querySelectorAll("details");
  details.forEach(d => d.open = true);
  const overlaps = [];
  let texts = 0;
  document.querySelectorAll("svg").forEach((svg, number) => {
    const boxes = [...svg.querySelectorAll("text")].map(t => ({at: t.getBoundingClientRect(), text: t.textContent}))
        .filter(b => b.at.width > 0).sort((a, b) => a.at.top - b.at.top);
    texts += boxes.length;
    for (let i = 0; i < boxes.length; ++i)
      for (let j = i + 1; j < boxes.length && boxes[j].at.top < boxes[i].at.bottom - 1; ++j) {
        const a = boxes[i].at, b = boxes[j].at;
        if (a.left < b.right - 1 && b.left < a.right - 1) overlaps.push([number, boxes[i].text, boxes[j].text]);
      }
  });
  const nav = performance.getEntriesByType("navigation")[0];
  const found = {errors, texts, overlaps: overlaps.slice(0, 50), overlap_count: overlaps.length, details: details.length,
                 requests: performance.getEntriesByType("resource").map(r => r.name),
                 too_wide: document.documentElement.scrollWidth > innerWidth,
                 load_ms: Math.round(nav.domContentLoadedEventEnd)};
  document.body.textContent = "";
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
  document.body.append(out);
});
</script>"""


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name): return path
    return None


def chromium(binary, folder, *args, timeout=300):
    return subprocess.run([binary, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--enable-logging=stderr", "--log-level=0", "--disable-background-networking",
                           f"--user-data-dir={folder}/profile", "--window-size=1280,900", *args],
                          capture_output=True, text=True, timeout=timeout)


def console(stderr):
    """What the page said: messages of the console, its errors among them."""
    return [line.partition("CONSOLE")[2] for line in stderr.splitlines() if "CONSOLE" in line]


def look(path, picture=None, height=900):
    """The object that is printed. Raises RuntimeError if Chromium gives no answer."""
    import base64
    binary = find_chromium()
    with open(path, encoding="utf-8") as f: page = f.read()
    with tempfile.TemporaryDirectory() as folder:
        said = console(chromium(binary, folder, "--dump-dom", "file://" + os.path.abspath(path)).stderr)
        copy = os.path.join(folder, "page.html")
        with open(copy, "w", encoding="utf-8") as f:
            f.write(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', SCRIPT, page, count=1))
        shown = chromium(binary, folder, "--dump-dom", "file://" + copy)
        found = re.search(r'<pre id="found">([^<]+)</pre>', shown.stdout)
        if not found: raise RuntimeError("Chromium gave no answer: " + shown.stderr[-500:])
        if picture:
            chromium(binary, folder, f"--screenshot={os.path.abspath(picture)}", "--hide-scrollbars",
                     f"--window-size=1280,{height}", "file://" + os.path.abspath(path))
    seen = json.loads(base64.b64decode(found[1]).decode())
    return {"bytes": len(page.encode()), "console": said + console(shown.stderr), "requests": seen["requests"],
            "texts": seen["texts"], "overlaps": seen["overlap_count"], "overlapping": seen["overlaps"],
            "errors": seen["errors"], "details": seen["details"], "too_wide": seen["too_wide"],
            "load_ms": seen["load_ms"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page")
    parser.add_argument("--picture", help="a PNG of the page as it opens")
    parser.add_argument("--height", type=int, default=900, help="of the picture")
    args = parser.parse_args()
    if find_chromium() is None:
        print("skipped: chromium is missing (apt-get install chromium)", file=sys.stderr)
        return 0
    result = look(args.page, args.picture, args.height)
    print(json.dumps(result))
    return 1 if result["console"] or result["requests"] or result["overlaps"] or result["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
