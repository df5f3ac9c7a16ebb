"""How PyTorch is told to use AVX2 alone, so that it stands beside `--target x86-64-v3`."""
import os

AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def environment(target):
    """Of a peer's process."""
    return {**os.environ, **(AVX2 if target == "x86-64-v3" else {})}


def tell_inductor():
    """In the peer's process, before it compiles: Inductor looks at the processor, not at the environment."""
    if os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
        import torch._inductor.config as config
        config.cpp.simdlen = 256
