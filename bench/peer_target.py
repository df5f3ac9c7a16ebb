"""How PyTorch is told to use AVX2 alone, so that it stands beside `--target x86-64-v3`."""
import os, sys

AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def environment(target):
    """Of a peer's process."""
    return {**os.environ, **(AVX2 if target == "x86-64-v3" else {})}


def tell_inductor():
    """In the peer's process, before it compiles: Inductor looks at the processor, not at the environment."""
    if os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
        import torch._inductor.config as config
        config.cpp.simdlen = 256


def start_here(target):
    """In a process that has both: begins again where PyTorch must be told before it is imported. Whether it and our
    package are there; what is missing is said."""
    if environment(target) != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], environment(target))
    try:
        import torch, cleave  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}: pip install torch==2.13.0, and PYTHONPATH=build/release/python")
        return False
    torch.set_num_threads(2)
    tell_inductor()
    return True
