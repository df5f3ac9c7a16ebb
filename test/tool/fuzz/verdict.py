"""What must hold of a command that has run: COMMAND's rules on statuses, messages, JSON and files.

    faults(ran, before, after, check)      a list of sentences, empty where all is well
"""
import json, os, re, struct, xml.etree.ElementTree

# A place in cleave's own C++: a file with a line. Unsupported may name a file to extend.
SOURCE_PLACE = re.compile(r"[\w/.-]+\.(?:cpp|h|hpp):\d+")
OURS = ("this is a defect of cleave", "terminate called", "Assertion", "Sanitizer", "runtime error:")
LONGEST_MESSAGE = 4000


def snapshot(folder):
    """Path to contents, or to None for what is no file."""
    out = {}
    for where, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if os.path.islink(path) or not os.path.isfile(path):
                out[path] = None
                continue
            with open(path, "rb") as f: out[path] = f.read()
    return out


def one_object(text):
    def refuse(word): raise ValueError(word)
    def unique(pairs):
        if len({k for k, _ in pairs}) != len(pairs): raise ValueError("a key twice")
        return dict(pairs)
    value = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    if not isinstance(value, dict): raise ValueError("no object")


def fault_of_json(command, text):
    try:
        for line in text.splitlines() if command == "train" else [text]: one_object(line)
        return None if text.strip() else "--json printed nothing"
    except ValueError as e: return f"--json is not one JSON object ({e}): {text[:200]!r}"


def fault_of_message(ran):
    text = ran.stderr
    if not re.search(r"^cleave: (error|not supported): ", text, flags=re.M): return f"no message of cleave's own: {text[:200]!r}"
    if len(text.encode()) > LONGEST_MESSAGE: return f"a message of {len(text)} characters"
    place = SOURCE_PLACE.search(text)
    if place and place[0] not in ran.given: return f"a place in the source of cleave: {place[0]}"
    return None


def fault_of_file(path, data, check):
    """Of a file that was written: it must be whole."""
    if data is None: return None
    try:
        if path.endswith(".safetensors"):
            n = struct.unpack("<Q", data[:8])[0]
            header = json.loads(data[8:8 + n])
            ends = [e["data_offsets"][1] for k, e in header.items() if k != "__metadata__"]
            if max(ends, default=0) != len(data) - 8 - n: return f"{path}: {len(data)} bytes, not as many as its header says"
        elif path.endswith(".json"): json.loads(data)
        elif path.endswith(".html"):
            if not data.endswith(b"</html>\n"): return f"{path}: half a page"
        elif path.endswith(".svg"): xml.etree.ElementTree.fromstring(data)
        elif path.endswith(".csv"):
            rows = data.decode().splitlines()
            if not rows or len({r.count(",") for r in rows}) != 1: return f"{path}: rows of different lengths"
        elif path.endswith((".clv", ".loops")) and check(path) not in (0, 2): return f"{path}: what was written is no graph"
        elif path.endswith((".tmp", ".probe")): return f"{path}: was left behind"
        elif not data and not path.endswith(".loops"): return f"{path}: is empty"
    except (ValueError, KeyError, struct.error, xml.etree.ElementTree.ParseError) as e: return f"{path}: half-written? {e}"
    return None


def faults(ran, before, after, check):
    out = []
    if ran.status not in (0, 1, 2): out.append(f"status {ran.status}: {ran.stderr[-600:]!r}")
    elif ran.status == 0 and ran.json and ran.stdout is not None: out.append(fault_of_json(ran.command, ran.stdout))
    elif ran.status in (1, 2): out.append(fault_of_message(ran))
    out += [f"{word!r} on stderr" for word in OURS if word in ran.stderr]
    if ran.status == 0 and ran.lost: out.append(f"status 0, and these results are lost: {ran.lost[:80]!r}")
    for path, data in after.items():
        if path not in before or before[path] != data:
            allowed = path in ran.writes or any(path.startswith(f + os.sep) for f in ran.folders)
            if path in before and not allowed: out.append(f"{path} was changed, and is no output")
            else: out.append(fault_of_file(path, data, check))
    out += [f"{path} is gone" for path in before if path not in after]
    return [f for f in out if f]
