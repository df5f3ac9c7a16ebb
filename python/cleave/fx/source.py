"""The line of the user's program that a call comes from, as the text of graphs has it: errors name it."""
import functools
import os
import re

import torch

FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')
OTHERS = tuple(os.path.dirname(os.path.abspath(f)) + os.sep for f in (torch.__file__, os.path.dirname(__file__)))


def name_lines_of(function):
    """torch.export notes lines of forward() alone, and of functions that it is told of."""
    note = getattr(torch.fx.proxy, "_register_stack_trace_anchor", None)
    if note is not None:
        note(getattr(function, "func", function))  # of a partial: its function


def source_of(node):
    """(file, line): the innermost frame outside of PyTorch; None where there is none."""
    return _source_of(node.stack_trace or "")


@functools.lru_cache(maxsize=4096)
def _source_of(trace):
    frames = [f for f in FRAME.findall(trace) if not f[0].startswith((*OTHERS, "<"))]
    if not frames:
        return None
    file, line = frames[-1]
    here = os.getcwd() + os.sep
    return file.removeprefix(here), int(line)


def source_text(node):
    """`model.py:12`; empty where it isn't known."""
    source = source_of(node)
    return f"{source[0]}:{source[1]}" if source else ""


def source_comment(node):
    """What stands behind a statement: `  # "model.py":12`."""
    source = source_of(node)
    if source is None or any(c in '"\\' or not c.isprintable() for c in source[0]):
        return ""
    return f'  # "{source[0]}":{source[1]}'
