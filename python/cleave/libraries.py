"""Libraries of tensors: how each hands its tensors to cleave, and takes cleave's, without copies."""
import sys


class Dlpack:
    """Any library: results stay cleave.Tensor."""

    @staticmethod
    def to_cleave(tensor):
        return tensor

    @staticmethod
    def from_cleave(tensor):
        return tensor


class Torch(Dlpack):
    @staticmethod
    def to_cleave(tensor):
        return tensor.detach()

    @staticmethod
    def from_cleave(tensor):
        return sys.modules["torch"].from_dlpack(tensor)


class Numpy(Dlpack):
    """Python's numbers, lists and buffers too. bf16, which NumPy lacks, stays cleave.Tensor."""

    @staticmethod
    def to_cleave(tensor):
        import numpy

        array = numpy.asarray(tensor)
        return array if array.flags.aligned and array.dtype.isnative else numpy.array(array, array.dtype.newbyteorder("="))

    @staticmethod
    def from_cleave(tensor):
        import numpy

        return tensor if tensor.dtype == "bf16" else numpy.from_dlpack(tensor)


def library_of(tensor):
    """The library that a tensor belongs to."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        return Torch
    if hasattr(tensor, "__array_interface__") or isinstance(tensor, (bool, int, float, list, tuple, memoryview)):
        return Numpy
    return Dlpack
