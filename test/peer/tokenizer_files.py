#!/usr/bin/env python3
"""Tokenizers that the Python package `tokenizers` trains and writes, beside it: ids and decoded texts.

    tokenizer_files.py RUN_TOKENIZER [--texts 300] [--random 40] [--seed 0] [--only NAME] [--time] [--files A.json ...]

One of each kind (GPT-2, RoBERTa, Llama 2 and 3, Mistral, Qwen 2, BERT, T5, ALBERT, XLM-R, Phi, Falcon, CLIP, ...), and
--random ones whose steps, models and added tokens are drawn. Each encodes --texts random texts, made of verses, of other
scripts, marks, emoji, controls, spaces and its own tokens, and decodes their ids and random ids. With --time, tokens a second of
both on one thread. Skipped (77) without `tokenizers`; the maps of SentencePiece are left out without `sentencepiece`.
"""
import argparse, io, os, random, subprocess, sys, tempfile, time, unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    import tokenizers
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
ODD = ("aà áâÃÄåæçéèêëíîñóöøúüýÿßþðŒœĞğİıŁłŞşŽž e\u0301 o\u0308\u0323 q\u0307\u0323 \u0300\u0301 ΑΒΓαβγςΣάϊ АБВабвёЙй אבגשׁ عربيةٌ "
       "हिन्दी क्षि ไทยก้ำ ខ្មែរ 中文字漢 日本語ひらがなカタカナｶﾅ 한국어각 ｆｕｌｌ①②½Ⅷ²³⁴ﬁﬂĳ℀㎏﷼ﷺ — – ‐ … “quotes” ‘x’ «» ¡¿§¶†‡•‣ №™©®€£¥₹ ∑∫√≤≠∞ ← → "
       "😀😃🤣👍🏽👩‍👩‍👧🇩🇪🏳️‍🌈❤️☃ \u200b\u200c\u200d\ufeff\u00ad\u2060 \u00a0\u2003\u3000\u2028\u2029\u0085\u180e \ufffd\u0000\u0001\u0007\u001f\u007f\u008f "
       "𝒜𝓑𝔾𝟘𝟙 𠀀𠮷 \U0001f9d1\u200d\U0001f4bb ᄀᆨ ŉǰ ẞ K Å Ω ſ ĿŀǄǅǆ ▁▁ Ġ Ċ Ċ ## </w> <0x41> <0xE4> ``''")
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "      \n\n    x", "\u00a0", "\u3000", ""]
ENGLISH = ["don't", "I'LL", "we've", "it's", "'s", "n't", "3.14", "12345678", "007", "$5,000.00", "e-mail", "C++20", "x_y", "foo(bar);", "--", "...", "#1", "50%",
           "Mary do not", "a . b ? c ! d , e ' f n't 'm 's 've 're"]


def verses():
    try:
        r = subprocess.run(["bible", "-f", "Gen1:1-Rev22:21"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return [line.split(" ", 1)[1] for line in r.stdout.splitlines() if " " in line]
    except OSError:
        return [" ".join(ENGLISH) + f" and the {n}th day of the month" for n in range(2000)]


# Code points that all tables of Unicode know, whatever their version.
OLD = [c for c in range(0x20000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs", "Co")]


class Texts:
    def __init__(self, lines, seed):
        self.lines, self.random, self.odd = lines, random.Random(seed), ODD.split(" ")

    def make(self, extra):
        r, out = self.random, []
        for _ in range(r.randint(0, 9)):
            k = r.random()
            if k < 0.25:
                words = r.choice(self.lines).split(" ")
                at = r.randrange(len(words))
                out.append(" ".join(words[at:at + r.randint(1, 8)]))
            elif k < 0.45: out.append(r.choice(self.odd))
            elif k < 0.55: out.append("".join(r.choice(ODD) for _ in range(r.randint(1, 6))))
            elif k < 0.65: out.append("".join(chr(r.choice(OLD)) for _ in range(r.randint(1, 4))))
            elif k < 0.75: out.append(r.choice(ENGLISH))
            elif k < 0.85 and extra: out.append(r.choice(extra))
            elif k < 0.88: out.append(r.choice([r.choice(ODD), r.choice("ab .")]) * r.randint(2, 40))
            else: out.append(r.choice(SPACES))
            out.append(r.choice([" ", " ", "", r.choice(SPACES)]))
        return "".join(out)


def added(content, **k): return AddedToken(content, **k)


def train(tok, lines, vocab=1500, specials=("<unk>",), alphabet=(), **more):
    kind = {"BPE": trainers.BpeTrainer, "WordPiece": trainers.WordPieceTrainer, "Unigram": trainers.UnigramTrainer, "WordLevel": trainers.WordLevelTrainer}
    name = type(tok.model).__name__
    if name not in ("WordLevel",) and alphabet: more["initial_alphabet"] = list(alphabet)
    if name == "Unigram": more["unk_token"] = "<unk>"
    tok.train_from_iterator(lines, kind[name](vocab_size=vocab, special_tokens=list(specials), show_progress=False, **more))
    return tok


def bytes_alphabet(): return pre_tokenizers.ByteLevel.alphabet()
def byte_tokens(): return [f"<0x{b:02X}>" for b in range(256)]


def template(first=None, last=None, tok=None):
    single = " ".join(x for x in (first, "$A", last) if x)
    names = [x for x in (first, last) if x]
    return processors.TemplateProcessing(single=single, pair="$A $B", special_tokens=[(n, tok.token_to_id(n)) for n in dict.fromkeys(names)])


def gpt2(lines, prefix=False):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder, t.post_processor = pre_tokenizers.ByteLevel(add_prefix_space=prefix), decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False)
    return train(t, lines, 3000, ["<|endoftext|>"], bytes_alphabet())


def roberta(lines):
    t = gpt2(lines, True)
    t.add_special_tokens([added("<s>"), added("</s>"), added("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    return t


def phi(lines):
    t = gpt2(lines)
    t.add_tokens([added(" " * n, normalized=True) for n in range(31, 1, -1)] + [added("\t" * n, normalized=True) for n in range(9, 1, -1)])
    return t


def llama2(lines):
    t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    train(t, lines, 2000, ["<unk>", "<s>", "</s>", *byte_tokens()], limit_alphabet=120)
    t.pre_tokenizer = None
    t = without_bytes_special(t)
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = template("<s>", None, t)
    return t


# Byte tokens are of the model alone, as in the real files.
def without_bytes_special(t):
    import json
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(j))


def mistral(lines):
    t = llama2(lines)
    t.normalizer, t.pre_tokenizer = None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.add_tokens([added("[INST]", normalized=False), added("[/INST]")])
    return t


def llama3(lines):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    train(t, lines, 3000, [], bytes_alphabet())
    t.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template("<|begin_of_text|>", None, t)])
    return t


def qwen2(lines):
    t = llama3(lines)
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def falcon(lines):
    t = gpt2(lines)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(False),
                                               pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    return t


def bert(lines, **options):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(**options), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    train(t, lines, 2000, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t.post_processor = template("[CLS]", "[SEP]", t)
    return t


def distilbert(lines):
    t = bert(lines, lowercase=False)
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    t.decoder = decoders.WordPiece(cleanup=False)
    return t


def character_map():
    try:
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2 as pb
    except ImportError:
        return None
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c d e f g h"] * 50), model_writer=out, vocab_size=12, hard_vocab_limit=False, minloglevel=2)
    m = pb.ModelProto()
    m.ParseFromString(out.getvalue())
    return m.normalizer_spec.precompiled_charsmap


MAP = None


def unigram(lines, normalizer, pre, specials=("<pad>", "</s>", "<unk>")):
    t = Tokenizer(models.Unigram())
    if normalizer: t.normalizer = normalizer
    t.pre_tokenizer, t.decoder = pre, decoders.Metaspace()
    train(t, lines[:4000], 1500, specials)
    return t


def t5(lines):
    if not MAP: return None
    t = unigram(lines, normalizers.Precompiled(MAP), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))
    t.post_processor = template(None, "</s>", t)
    t.add_special_tokens([f"<extra_id_{n}>" for n in range(5)])
    return t


def albert(lines):
    if not MAP: return None
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Precompiled(MAP)]
    return unigram(lines, normalizers.Sequence(steps), pre_tokenizers.Metaspace())


def xlmr(lines):
    if not MAP: return None
    t = unigram(lines, normalizers.Sequence([normalizers.Precompiled(MAP), normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace())
    t.add_special_tokens([added("<mask>", lstrip=True), "<s>"])
    t.post_processor = template("<s>", "</s>", t)
    return t


def unigram_bytes(lines):
    import json
    t = unigram(lines, normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]), pre_tokenizers.Metaspace(prepend_scheme="never"))
    j = json.loads(t.to_str())
    j["model"]["byte_fallback"] = True
    j["model"]["vocab"] += [[b, -20.0] for b in byte_tokens()]
    t = Tokenizer.from_str(json.dumps(j))
    t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="never")])
    return t


def word_level(lines):
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer, t.pre_tokenizer = normalizers.Sequence([normalizers.Strip(), normalizers.Lowercase()]), pre_tokenizers.Whitespace()
    return train(t, lines, 3000)


def clip(lines):
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    train(t, lines, 2000, ["<|startoftext|>", "<|endoftext|>"], bytes_alphabet(), end_of_word_suffix="</w>")
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), add_prefix_space=False)
    return t


def prefixed(lines):
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.NFD(), pre_tokenizers.WhitespaceSplit(), decoders.WordPiece()
    return train(t, lines, 2000, limit_alphabet=60, continuing_subword_prefix="##")


def byte_normalized(lines):
    t = Tokenizer(models.BPE())
    t.normalizer, t.decoder = normalizers.ByteLevel(), decoders.ByteLevel()
    t.pre_tokenizer = pre_tokenizers.Split("Ġ", "merged_with_next")
    train(t, lines, 1500, [], bytes_alphabet())
    t.add_tokens([added("né à", normalized=True), added("two words")])
    return t


KINDS = {"gpt2": gpt2, "roberta": roberta, "phi": phi, "llama2": llama2, "mistral": mistral, "llama3": llama3, "qwen2": qwen2, "falcon": falcon,
         "bert": bert, "bert_accents": lambda l: bert(l, lowercase=True, strip_accents=False), "bert_raw": lambda l: bert(l, clean_text=False, handle_chinese_chars=False),
         "distilbert": distilbert, "t5": t5, "albert": albert, "xlmr": xlmr, "unigram_bytes": unigram_bytes, "word_level": word_level, "clip": clip,
         "prefixed": prefixed, "byte_normalized": byte_normalized}

BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PATTERNS = [r"\s+", r"\w+|[^\w\s]+", r"[^\S\d]?x*", r"\d{,3}", r"(?<=a)b|e(?!n)", r"[[:alpha:]]+", r"\p{Han}|\p{Letter}{2}", r"(?i)THE|ſ", r"[^\S\n]+$", r"^.", r"(?>a|an)d?",
            r"\p{^L}+", r"[\p{P}\-\s]", "é|\\u00fc", r"[a-c[:digit:]]+", r"e*?", r"\S*\Z"]


def draw(texts, base):
    """A tokenizer of drawn steps on one of the models of `base`."""
    r = texts.random
    ns = [normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase, normalizers.StripAccents, normalizers.Nmt,
          lambda: normalizers.Strip(r.random() < .5, r.random() < .5), lambda: normalizers.Prepend(r.choice(["▁", " ", "x y"])),
          lambda: normalizers.Replace(r.choice([" ", "e", "th", "\n"]), r.choice(["", "▁", " ", "ë"])), lambda: normalizers.Replace(Regex(r.choice(NEVER_EMPTY)), r.choice(["", " ", "<>"])),
          lambda: normalizers.BertNormalizer(*(r.random() < .5 for _ in range(4))), normalizers.ByteLevel] + ([lambda: normalizers.Precompiled(MAP)] if MAP else [])
    ps = [lambda: pre_tokenizers.ByteLevel(r.random() < .5, use_regex=r.random() < .5), pre_tokenizers.Whitespace, pre_tokenizers.WhitespaceSplit, pre_tokenizers.BertPreTokenizer,
          lambda: pre_tokenizers.Metaspace(r.choice("▁_"), r.choice(["first", "never", "always"]), r.random() < .5), lambda: pre_tokenizers.Punctuation(r.choice(BEHAVIORS)),
          lambda: pre_tokenizers.Digits(r.random() < .5), lambda: pre_tokenizers.CharDelimiterSplit(r.choice("-e ")),
          lambda: pre_tokenizers.Split(r.choice([" ", "th", "e"]), r.choice(BEHAVIORS), r.random() < .3),
          lambda: pre_tokenizers.Split(Regex(r.choice(PATTERNS)), r.choice(BEHAVIORS), r.random() < .3)]
    ds = [decoders.ByteLevel, decoders.WordPiece, lambda: decoders.WordPiece("##", False), lambda: decoders.Metaspace("▁", r.choice(["first", "never", "always"])), decoders.ByteFallback,
          decoders.Fuse, lambda: decoders.Replace(r.choice([" ", "▁", "th"]), r.choice(["", "_ "])), lambda: decoders.Replace(Regex(r.choice(PATTERNS)), "-"),
          lambda: decoders.Strip(r.choice(" e▁"), 1, r.choice([0, 1])), decoders.BPEDecoder]
    t = Tokenizer.from_str(r.choice(base).to_str())
    n, p, d = (r.randint(0, 3) for _ in range(3))
    t.normalizer = normalizers.Sequence([r.choice(ns)() for _ in range(n)]) if n else None
    t.pre_tokenizer = pre_tokenizers.Sequence([r.choice(ps)() for _ in range(p)]) if p else None
    t.decoder = decoders.Sequence([r.choice(ds)() for _ in range(d)]) if d else None
    for _ in range(r.randint(0, 4)):
        content = r.choice(["<x>", "the", " of", "LORD", "é", "[A B]", "ﬁ", "a", "<x>y", "\n\n", "中"])
        k = {x: r.random() < .4 for x in ("single_word", "lstrip", "rstrip", "normalized")}
        try:
            if t.normalizer and not t.normalizer.normalize_str(content): continue  # tokenizers finds it everywhere
            (t.add_special_tokens if r.random() < .5 else t.add_tokens)([added(content, **k)])
        except BaseException:  # two tokens that are one in their normal form
            pass
    return t


# An empty match at the beginning of a text, replaced, makes tokenizers write it twice.
NEVER_EMPTY = [p for p in PATTERNS if not p.endswith(("*", "*?", r"\Z")) and p != r"\d{,3}"]


class Peer:
    def __init__(self, program):
        self.run = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", bufsize=1)

    def ask(self, line):
        self.run.stdin.write(line + "\n")
        self.run.stdin.flush()
        answer = self.run.stdout.readline()
        if not answer: sys.exit(f"the program ended at: {line[:200]}")
        return answer.rstrip("\n")


def hexed(s): return s.encode("utf-8", "surrogatepass").hex()


def both(t, ids): return hexed(t.decode(ids, skip_special_tokens=True)) + "|" + hexed(t.decode(ids, skip_special_tokens=False))


def expected(t, text):
    """What the program should answer; "!" for an error; None where tokenizers itself breaks down."""
    try:
        ids, plain = t.encode(text).ids, t.encode(text, add_special_tokens=False).ids
    except Exception:
        return "!"
    except BaseException:
        return None
    try:
        return " ".join(map(str, ids)) + "|" + " ".join(map(str, plain)) + "|" + both(t, ids)
    except BaseException:
        return " ".join(map(str, ids)) + "|" + " ".join(map(str, plain)) + "|"


def compare(name, t, peer, texts, count, folder):
    path = os.path.join(folder, name + ".json")
    t.save(path)
    t = Tokenizer.from_file(path)
    answer = peer.ask("load " + path)
    if answer != "ok":
        print(f"{name}: {answer}")
        return 1
    extra = [a.content for a in t.get_added_tokens_decoder().values()]
    wrong = checked = broken = tokens = 0

    def judge(what, got, want):
        nonlocal wrong
        if got == want or (want == "!" and got.startswith("!")) or (want.endswith("|") and want.count("|") == 2 and got.startswith(want)): return
        wrong += 1
        if wrong <= 3: print(f"{name}: {what!r}\n   got  {got[:700]}\n   want {want[:700]}")

    size = max(t.get_vocab().values(), default=0) + 1
    for n in range(count):
        text = "" if n == 0 else texts.make(extra)
        want = expected(t, text)
        if want is None:
            broken += 1
            continue
        checked += 1
        tokens += want.split("|")[0].count(" ") + 1
        judge(text, peer.ask("text " + hexed(text)), want)
        if n % 4 == 0:
            ids = [texts.random.randrange(size + 2) for _ in range(texts.random.randint(0, 12))]
            try:
                want = both(t, ids)
            except BaseException:
                continue
            judge(ids, peer.ask("ids " + " ".join(map(str, ids))), want)
    want = " ".join("-" if t.id_to_token(i) is None else hexed(t.id_to_token(i)) for i in range(size + 3))
    judge("tokens", " ".join(peer.ask(f"tokens 0 {size + 3}").split(" ")[:size + 3]).rstrip(), want)
    for bad in ("ff", "61c3", "eda080", "f4908080", "6180"):
        judge("no UTF-8", peer.ask("text " + bad), "!")
    print(f"{name}: {checked} texts, {tokens} tokens" + (f", {broken} that tokenizers can't" if broken else "") + (f", {wrong} wrong" if wrong else ""), flush=True)
    return wrong


def timed(name, t, peer, lines, folder):
    path = os.path.join(folder, "lines.txt")
    with open(path, "w") as f: f.write("\n".join(lines))
    peer.ask("load " + os.path.join(folder, name + ".json"))
    best = min((float(peer.ask("time " + path).split()[1]) for _ in range(3)))
    theirs = 1e9
    for _ in range(3):
        begin = time.perf_counter()
        tokens = sum(len(t.encode(line).ids) for line in lines)
        theirs = min(theirs, time.perf_counter() - begin)
    mine = int(peer.ask("time " + path).split()[0])
    print(f"{name}: {mine} tokens ({tokens}), {mine / best / 1e6:.2f} million a second, tokenizers {tokens / theirs / 1e6:.2f}: ratio {theirs / best:.1f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--texts", type=int, default=300)
    p.add_argument("--random", type=int, default=40)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", default="")
    p.add_argument("--time", action="store_true")
    p.add_argument("--files", nargs="*", default=[], help="compare with these tokenizer.json alone")
    p.add_argument("--keep", help="a folder for the files")
    o = p.parse_args()
    global MAP
    MAP = character_map()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where it breaks down, tokenizers prints its stack
    sys.stderr = sys.stdout
    lines = verses()
    texts, peer, wrong, base = Texts(lines, o.seed), Peer(o.program), 0, []
    some = random.Random(o.seed).sample(lines, 4000)
    training = some + [texts.make([]) for _ in range(400)]
    with tempfile.TemporaryDirectory() as folder:
        folder = o.keep or folder
        for n, path in enumerate(o.files):
            t, name = Tokenizer.from_file(path), f"file{n}"
            t.no_truncation()
            t.no_padding()
            wrong += compare(name, t, peer, texts, o.texts, folder)
            if o.time: timed(name, t, peer, lines, folder)
        if o.files: return 1 if wrong else 0
        for name, make in KINDS.items():
            if o.only and o.only not in name and not o.random: continue
            t = make(training)
            if t is None:
                print(f"{name}: left out without sentencepiece")
                continue
            if name in ("llama2", "unigram_bytes", "gpt2", "bert", "clip", "word_level"): base.append(t)
            if o.only and o.only not in name: continue
            wrong += compare(name, t, peer, texts, o.texts, folder)
            if o.time: timed(name, t, peer, lines, folder)
        for n in range(o.random):
            if o.only and o.only not in "random": break
            wrong += compare(f"random{n}", draw(texts, base), peer, texts, max(20, o.texts // 4), folder)
    print(f"tokenizers {tokenizers.__version__}: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
