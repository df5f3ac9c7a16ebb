"""The syntax tree of one C++ file, through libclang's C interface."""
import ctypes as c
import functools


class Cursor(c.Structure):
    _fields_ = [("kind", c.c_int), ("xdata", c.c_int), ("data", c.c_void_p * 3)]


class String(c.Structure):
    _fields_ = [("data", c.c_void_p), ("flags", c.c_uint)]


class Location(c.Structure):
    _fields_ = [("data", c.c_void_p * 2), ("number", c.c_uint)]


class Range(c.Structure):
    _fields_ = [("data", c.c_void_p * 2), ("begin", c.c_uint), ("end", c.c_uint)]


class Type(c.Structure):
    _fields_ = [("kind", c.c_int), ("data", c.c_void_p * 2)]


class Unsaved(c.Structure):
    _fields_ = [("name", c.c_char_p), ("text", c.c_char_p), ("length", c.c_ulong)]


VISIT = c.CFUNCTYPE(c.c_int, Cursor, Cursor, c.c_void_p)
SIGNATURES = {
    "clang_createIndex": (c.c_void_p, [c.c_int, c.c_int]),
    "clang_parseTranslationUnit": (c.c_void_p, [c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p),
                                                c.c_int, c.POINTER(Unsaved), c.c_uint, c.c_uint]),
    "clang_disposeTranslationUnit": (None, [c.c_void_p]),
    "clang_getTranslationUnitCursor": (Cursor, [c.c_void_p]),
    "clang_visitChildren": (c.c_uint, [Cursor, VISIT, c.c_void_p]),
    "clang_getCursorKindSpelling": (String, [c.c_int]),
    "clang_getCursorSpelling": (String, [Cursor]),
    "clang_getCursorExtent": (Range, [Cursor]),
    "clang_getRangeStart": (Location, [Range]),
    "clang_getRangeEnd": (Location, [Range]),
    "clang_getFileLocation": (None, [Location, c.POINTER(c.c_void_p), c.POINTER(c.c_uint),
                                     c.POINTER(c.c_uint), c.POINTER(c.c_uint)]),
    "clang_Location_isFromMainFile": (c.c_int, [Location]),
    "clang_getCursorType": (Type, [Cursor]),
    "clang_getCanonicalType": (Type, [Type]),
    "clang_getTypeSpelling": (String, [Type]),
    "clang_getCString": (c.c_char_p, [String]),
    "clang_disposeString": (None, [String]),
    "clang_Cursor_getNumArguments": (c.c_int, [Cursor]),
    "clang_Cursor_getArgument": (Cursor, [Cursor, c.c_uint]),
    "clang_getNumDiagnostics": (c.c_uint, [c.c_void_p]),
    "clang_getDiagnostic": (c.c_void_p, [c.c_void_p, c.c_uint]),
    "clang_getDiagnosticSeverity": (c.c_int, [c.c_void_p]),
    "clang_getDiagnosticSpelling": (String, [c.c_void_p]),
    "clang_getDiagnosticLocation": (Location, [c.c_void_p]),
    "clang_disposeDiagnostic": (None, [c.c_void_p]),
}


@functools.cache
def library():
    lib = c.CDLL("/usr/lib/llvm-19/lib/libclang-19.so.1")
    for name, (result, arguments) in SIGNATURES.items():
        f = getattr(lib, name)
        f.restype, f.argtypes = result, arguments
    return lib


def taken(s):
    lib = library()
    text = (lib.clang_getCString(s) or b"").decode()
    lib.clang_disposeString(s)
    return text


@functools.cache
def kind_name(kind):
    return taken(library().clang_getCursorKindSpelling(kind))


def offset(location):
    at = c.c_uint()
    library().clang_getFileLocation(location, None, None, None, c.byref(at))
    return at.value


class Node:
    """kind ("BinaryOperator", ...), [start, end) in the file, canonical type, children."""

    def __init__(self, cursor, parent):
        lib = library()
        extent = lib.clang_getCursorExtent(cursor)
        self.kind = kind_name(cursor.kind)
        self.start, self.end = offset(lib.clang_getRangeStart(extent)), offset(lib.clang_getRangeEnd(extent))
        self.name = taken(lib.clang_getCursorSpelling(cursor))
        self.type = taken(lib.clang_getTypeSpelling(lib.clang_getCanonicalType(lib.clang_getCursorType(cursor))))
        self.parent, self.children, self.arguments = parent, [], []
        if self.kind == "CallExpr":
            for k in range(max(0, lib.clang_Cursor_getNumArguments(cursor))):
                self.arguments.append(Node.leaf(lib.clang_Cursor_getArgument(cursor, k)))

    @staticmethod
    def leaf(cursor):
        return Node(cursor, None)

    def above(self):
        node = self.parent
        while node:
            yield node
            node = node.parent


def children_of(cursor, parent, top):
    lib, out = library(), []

    def visit(child, _parent, _data):
        if top and not lib.clang_Location_isFromMainFile(lib.clang_getRangeStart(lib.clang_getCursorExtent(child))):
            return 1
        node = Node(child, parent)
        node.children = children_of(child, node, False)
        out.append(node)
        return 1

    lib.clang_visitChildren(cursor, VISIT(visit), None)
    return out


def parse(path, text, flags, want_tree=True):
    """(the nodes of the file's top level, [(offset, message)] of the errors)."""
    lib = library()
    data = text.encode()
    unsaved = Unsaved(str(path).encode(), data, len(data))
    arguments = (c.c_char_p * len(flags))(*[f.encode() for f in flags])
    index = parse.index = getattr(parse, "index", None) or lib.clang_createIndex(0, 0)
    unit = lib.clang_parseTranslationUnit(index, str(path).encode(), arguments, len(flags), c.byref(unsaved), 1, 0)
    if not unit:
        raise RuntimeError(f"{path}: libclang can't read it")
    errors = []
    for k in range(lib.clang_getNumDiagnostics(unit)):
        d = lib.clang_getDiagnostic(unit, k)
        if lib.clang_getDiagnosticSeverity(d) >= 3:
            errors.append((offset(lib.clang_getDiagnosticLocation(d)), taken(lib.clang_getDiagnosticSpelling(d))))
        lib.clang_disposeDiagnostic(d)
    tree = children_of(lib.clang_getTranslationUnitCursor(unit), None, True) if want_tree else []
    lib.clang_disposeTranslationUnit(unit)
    return tree, errors


def walk(nodes):
    for node in nodes:
        yield node
        yield from walk(node.children)
