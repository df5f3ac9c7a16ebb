"""Where the rules of an operator file can be broken, and how.

    sign       + for -, a dropped negation, a dropped or changed factor
    axis       a dim or rank by one beside itself
    term       an operand of a sum, product or condition dropped; a check or a case left out
    broadcast  keepdim turned, an expand left out
    bound      < for <=, an integer by one beside itself
    exchange   two operands, min and max, < and >, true and false, for each other
"""
import dataclasses
import re

from mutation import syntax

CLASSES = ("sign", "axis", "term", "broadcast", "bound", "exchange")
RULES = ("infer", "reference", "decompose", "grad", "lower")

# Results of functions that hold no rule (a Case is what samples are made of), and calls whose arguments are text.
NO_RULE = re.compile(r"OpDef|Sample|Case\b|Reject|Cost\b|Trait")
TEXT_CALLS = {"broken", "user_error", "format", "bug", "unsupported", "fail", "check_condition"}
AXIS = re.compile(r"dim|axis|dim_of\(op\)|dims\[\w+\]|from_front\(.*\)|op\.int_attr\(\"dim\"\)")
REDUCTIONS = re.compile(r"(sum|mean|amax|amin|prod|any|all|logsumexp|var|\w*kept\w*|\w*fold\w*|\w*reduc\w*)$")
TURNED = {"<": ("bound", "<="), "<=": ("bound", "<"), ">": ("bound", ">="), ">=": ("bound", ">"),
          "==": ("exchange", "!="), "!=": ("exchange", "==")}
REVERSED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
LOOP_OPS = {"min": "max", "max": "min", "add": "sub", "sub": "add", "mul": "add", "div": "mul", "lt": "le", "le": "lt",
            "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "logical_and": "logical_or", "logical_or": "logical_and",
            "sin": "cos", "cos": "sin", "exp": "expm1", "log": "log1p", "truncdiv": "truncmod", "truncmod": "truncdiv"}
BUILDER = {"add": "sub", "sub": "add", "mul": "add", "div": "mul", "maximum": "minimum", "minimum": "maximum",
           "amax": "amin", "amin": "amax", "ge": "gt", "gt": "ge", "le": "lt", "lt": "le", "sum": "mean", "mean": "sum",
           "sin": "cos", "cos": "sin", "exp": "neg", "sqrt": "rsqrt", "rsqrt": "sqrt"}
COMMUTES = {"add", "mul", "maximum", "minimum", "max", "min", "eq", "ne", "logical_and", "logical_or", "wrapping_add",
            "wrapping_mul", "check_same_shape"}
NUMBER = re.compile(r"(const )?(int|long|unsigned long|unsigned int|double|float|bool)$")


@dataclasses.dataclass(frozen=True)
class Change:
    """text[start:end] becomes `new`; a whole statement where `statement` is set."""
    file: str
    start: int
    end: int
    old: str
    new: str
    kind: str
    rule: str
    function: str
    line: int
    source: str  # the line's text
    statement: bool = False

    def key(self):
        return f"{self.file} | {self.source} | {flat(self.old)} -> {flat(self.new)}"

    def where(self):
        return f"src/op/{self.file}:{self.line}"


def flat(text):
    return " ".join(text.split())


def result_of(function_type):
    return function_type.replace("(anonymous namespace)::", "").split("(")[0]


def parameters_of(node, text):
    if node.kind == "LambdaExpr":
        return text[node.start:node.end].split("{")[0]
    return node.type


def rule_of(function, text):
    """Which rule a function or lambda belongs to, None where it holds none."""
    types = parameters_of(function, text)
    if function.kind == "LambdaExpr":
        slot = re.search(r"\.(\w+)\s*=\s*(?:[\w:]+\()?\s*$", text[:function.start])
        if slot and slot[1] in RULES: return slot[1]
        if slot and slot[1] in ("cost", "samples", "rejects"): return ""
        if not re.search(r"OpView|GradView|Builder|Exprs?\b", types): return None
    elif NO_RULE.search(result_of(function.type)):
        return ""
    name = function.name
    if name.startswith("cost"): return ""
    for rule, start in (("infer", ("infer", "check")), ("reference", ("reference",)), ("decompose", ("decompose",)),
                        ("grad", ("grad",)), ("lower", ("lower",))):
        if name.startswith(start): return rule
    if re.search(r"KernelBuilder|loop::|\bExprs?\b", types): return "lower"
    if "GradView" in types: return "grad"
    if "Builder" in types: return "decompose"
    if re.search(r"\bArray", types): return "reference"
    if "OpView" in types: return "infer"
    return None if function.kind == "LambdaExpr" else "shared"


def context(node, text):
    """(rule, function) around a node; rule is empty where nothing may be changed: what a call costs is no rule."""
    rule, name = None, ""
    if node.name in TEXT_CALLS: return "", ""
    for up in node.above():
        if up.kind == "CallExpr" and up.name in TEXT_CALLS: return "", ""
        if up.kind in ("LambdaExpr", "FunctionDecl", "CXXMethod", "FunctionTemplate"):
            if up.kind != "LambdaExpr" and re.search(r"Cost(Fn)?\b", result_of(up.type)): return "", ""
            if rule is None: rule = rule_of(up, text)
            if up.kind != "LambdaExpr": name = up.name
        if up.kind == "VarDecl" and "constexpr" in text[up.start:up.end].split("=")[0]: return "", ""
        if up.kind in ("StaticAssert", "CaseStmt"): return "", ""
    return (rule or ""), name


def between(text, node):
    """The operands of a binary node and the operator between them, as they stand in the text."""
    if len(node.children) < 2: return None
    a, b = node.children[0], node.children[-1]
    if not node.start <= a.start < a.end < b.start < b.end <= node.end: return None
    return text[node.start:a.end], text[a.end:b.start].strip(), text[b.start:node.end]


def of_binary(text, node):
    parts = between(text, node)
    if not parts: return
    a, op, b = parts
    arithmetic = NUMBER.match(node.type) or node.type.endswith(("loop::Expr", "cleave::Dim"))
    if op in ("+", "-") and arithmetic:
        yield "sign", f"{a} {'-' if op == '+' else '+'} ({b})"
        yield "term", a
        if op == "-": yield "exchange", f"({b}) - ({a})"
    elif op in ("*", "/") and arithmetic:
        yield "term", a
        if op == "*": yield "term", b
        else: yield "exchange", f"({b}) / ({a})"
    elif op in TURNED and arithmetic:
        kind, other = TURNED[op]
        yield kind, f"{a} {other} {b}"
        if op in REVERSED: yield "exchange", f"{a} {REVERSED[op]} {b}"
    elif op in ("&&", "||"):
        yield "term", a
        yield "term", b
    elif op in ("+=", "-="):
        yield "sign", f"{a} {'-=' if op == '+=' else '+='} {b}"
    elif op == "*=":
        yield "sign", f"{a} += {b}"


def of_call(text, node):
    whole = text[node.start:node.end]
    arguments = [(n.start, n.end, n.type) for n in node.arguments if node.start < n.start < n.end <= node.end]
    words = [text[s:e] for s, e, _ in arguments]
    if node.name.startswith("operator"):
        yield from of_binary(text, node)
        return
    on_builder = re.match(r"b\.(\w+)\(", whole)
    if on_builder and words:
        name = on_builder[1]
        if name in BUILDER:
            yield ("sign" if name in ("add", "sub") else "exchange"), whole.replace(f"b.{name}(", f"b.{BUILDER[name]}(", 1)
        if name in ("add", "sub", "mul", "div") and len(words) == 2:
            for word in words[:2 if name == "mul" else 1]:
                if not re.match(r"[-\d]|.*attr\(|static_cast", word): yield "term", word
        if name == "neg": yield "sign", words[0]
        if name in ("expand", "sum"): yield "broadcast" if name == "expand" else "term", words[0]
        if name in ("exp", "log", "sqrt", "rsqrt", "reciprocal", "abs", "tanh"): yield "term", words[0]
    if 'op.bool_attr("' in whole[:14]:
        yield ("broadcast" if "keepdim" in whole else "exchange"), f"!{whole}"
    if node.type == "long" and AXIS.fullmatch(whole): yield from of_axis(whole)
    if whole.endswith(".rank()"): yield "axis", f"{whole} - 1"
    loop_op = re.search(r"Op::(\w+)$", words[0]) if words else None
    if not {node.name, on_builder and on_builder[1], loop_op and loop_op[1]} & COMMUTES and len(whole) < 200:
        for (s, e, t), (s2, e2, t2) in zip(arguments, arguments[1:]):
            if re.search(r"iterator|char|\*", t): continue
            if t.removeprefix("const ") == t2.removeprefix("const ") and text[s:e] != text[s2:e2] and e < s2:
                yield "exchange", text[node.start:s] + text[s2:e2] + text[e:s2] + text[s:e] + text[e2:node.end]


def of_axis(whole):
    yield "axis", f"({whole} > 0 ? {whole} - 1 : {whole} + 1)"


def of_literal(text, node):
    whole = text[node.start:node.end]
    up = node.parent
    if node.kind == "CXXBoolLiteralExpr":
        if whole not in ("true", "false"): return
        call = next((p for p in node.above() if p.kind == "CallExpr" and p.name), None)
        kind = "broadcast" if call and REDUCTIONS.match(call.name) else "exchange"
        yield kind, "false" if whole == "true" else "true"
    elif node.kind == "FloatingLiteral":
        if re.fullmatch(r"[0.]+f?", whole): return
        yield "sign", f"(2 * {whole})"
        yield "sign", f"(-{whole})"
    elif re.fullmatch(r"\d+", whole):
        calls = [p.name for p in node.above() if p.kind == "CallExpr"][:2]
        kind = "bound"
        if any(re.search(r"dim|rank|view|expand|permute|sum|mean|size", name) for name in calls): kind = "axis"
        if calls and calls[0] in ("in", "out", "dout", "in_type", "out_type", "has", "needs", "load", "operand", "result"):
            kind = "exchange"
        if up and up.kind == "UnaryOperator": yield "axis", f"{int(whole) + 1}"
        else: yield kind, f"{int(whole) + 1}"
        if int(whole) > 0: yield kind, f"{int(whole) - 1}"


def of_node(text, node):
    whole = text[node.start:node.end]
    if node.kind in ("BinaryOperator", "CompoundAssignOperator"):
        yield from of_binary(text, node)
    elif node.kind == "CallExpr":
        yield from of_call(text, node)
    elif node.kind in ("IntegerLiteral", "FloatingLiteral", "CXXBoolLiteralExpr"):
        yield from of_literal(text, node)
    elif node.kind == "UnaryOperator" and whole.startswith(("-", "!")):
        yield ("sign" if whole[0] == "-" else "exchange"), whole[1:]
    elif node.kind == "DeclRefExpr" and re.search(r"\bOp::\w+$", whole) and node.name in LOOP_OPS:
        yield "exchange", whole[:len(whole) - len(node.name)] + LOOP_OPS[node.name]
    elif node.kind == "DeclRefExpr" and node.type in ("long", "const long") and AXIS.fullmatch(whole):
        if node.parent and not (node.parent.kind == "BinaryOperator" and "=" in node.parent.name):
            yield from of_axis(whole)
    elif node.kind == "IfStmt" and node.children and "constexpr" not in whole[:14]:
        condition = node.children[0]
        if whole.startswith("if (") and text[condition.start - 1] == "(" and text[condition.end:condition.end + 1] == ")":
            yield "term", None


def statements(path, text, functions):
    """Checks that can be left out: CLEAVE_CHECK(...); at the beginning of a line."""
    for m in re.finditer(r"^[ ]+(CLEAVE_CHECK\([^;]*\);)\n", text, re.M):
        f = next((f for f in functions if f.start <= m.start() < f.end), None)
        if f: yield m.start(1), m.end(1), f


def in_header(node):
    """Inside the type or name of a declaration, not its value."""
    up = node.parent
    return up is not None and up.kind in ("VarDecl", "ParmDecl") and node.kind.endswith("Ref")


def changes(path, text, flags):
    """Every change of a file, in the order of the text, at most one of the same text."""
    tree, errors = syntax.parse(path, text, flags)
    if errors: raise RuntimeError(f"{path}: {errors[0]}")
    out, seen = [], set()

    def add(start, end, kind, rule, function, new, statement=False):
        if "\n#" in text[start:end] or "//" in text[start:end] or (start, end, new) in seen: return
        seen.add((start, end, new))
        line = text.count("\n", 0, start) + 1
        out.append(Change(path.name, start, end, text[start:end], new, kind, rule, function, line,
                          text.split("\n")[line - 1].strip(), statement))

    for node in syntax.walk(tree):
        if not 0 < node.start < node.end or in_header(node): continue
        found = list(of_node(text, node))
        if not found: continue
        rule, function = context(node, text)
        if not rule: continue
        for kind, new in found:
            if new is None:
                condition = node.children[0]
                add(condition.start, condition.end, kind, rule, function, "false")
            else:
                add(node.start, node.end, kind, rule, function, new)
    functions = [n for n in syntax.walk(tree) if n.kind == "FunctionDecl" and rule_of(n, text)]
    for start, end, f in statements(path, text, functions):
        add(start, end, "term", rule_of(f, text), f.name, "", True)
    return sorted(out, key=lambda c: (c.start, c.end, c.new))


def mutated(text, chosen):
    """The text with each (number, change) chosen at run time by cleave_mutant(number)."""
    for number, c in sorted(chosen, key=lambda item: -item[1].start):
        if c.statement:
            new = f"if (!::cleave_mutant({number})) {c.old}"
        else:
            new = f"(::cleave_mutant({number}) ? ({c.new}) : ({c.old}))"
        text = text[:c.start] + new + text[c.end:]
    return text
