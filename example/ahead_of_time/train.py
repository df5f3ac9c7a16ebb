#!/usr/bin/env python3
"""Trains from step.so alone, as train.c does, by ctypes:  train.py FOLDER/step.so FOLDER/batches.bin"""
import ctypes
import json
import math
import sys
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

DTYPES = {"f64": (0, 8), "f32": (1, 4), "bf16": (2, 2), "f16": (3, 2), "i64": (4, 8), "i32": (5, 4), "i16": (6, 2),
          "i8": (7, 1), "u8": (8, 1), "bool": (9, 1), "c64": (10, 8)}


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64))]


class Error(Structure):
    _fields_ = [("code", c_int32), ("message", c_char * 2044)]


class Options(Structure):
    _fields_ = [("version", c_uint32), ("bytes", c_uint32), ("program", c_uint64), ("threads", c_int32),
                ("pool_threads", c_int32), ("parallel_for", c_void_p), ("pool", c_void_p), ("memory", c_void_p),
                ("memory_bytes", c_size_t), ("weights", c_char_p), ("callbacks", c_void_p), ("callback_count", c_size_t)]


def tensor_of(entry, rows=0):
    """Memory for an entry of step.json, with `rows` for what varies, and its cleave_tensor."""
    code, element = DTYPES[entry["dtype"]]
    shape = [rows if n < 0 else n for n in entry["shape"]]
    memory = ctypes.create_string_buffer(max(1, element * math.prod(shape)))
    return memory, Tensor(ctypes.addressof(memory), code, len(shape), (c_int64 * max(1, len(shape)))(*shape), None)


def main(library, batches):
    step = ctypes.CDLL(library)
    step.step_describe.restype = c_char_p
    step.step_open.restype = c_void_p
    step.step_run.argtypes = [c_void_p, POINTER(Tensor), c_size_t, POINTER(Tensor), c_size_t, POINTER(Error)]
    step.step_close.argtypes = [c_void_p]
    about = json.loads(step.step_describe())
    error = Error()
    options = Options(version=about["interface"], bytes=ctypes.sizeof(Options), program=int(about["program"], 16))
    instance = step.step_open(byref(options), byref(error))
    if not instance:
        sys.exit(error.message.decode())
    outputs = [tensor_of(entry) for entry in about["outputs"]]
    outs = (Tensor * len(outputs))(*(t for _, t in outputs))
    with open(batches, "rb") as file:
        while rows := file.read(8):
            inputs = [tensor_of(entry, int.from_bytes(rows, "little")) for entry in about["inputs"]]
            for memory, _ in inputs:
                file.readinto(memory)
            ins = (Tensor * len(inputs))(*(t for _, t in inputs))
            if step.step_run(instance, ins, len(ins), outs, len(outs), byref(error)):
                sys.exit(error.message.decode())
            print(ctypes.c_float.from_buffer(outputs[0][0]).value.hex())
    step.step_close(instance)


if __name__ == "__main__":
    main(*sys.argv[1:])
