import warnings

import pytest

torch = pytest.importorskip("torch")
import cleave  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    """Each test compiles anew, with the same random numbers, and nothing counted."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    cleave.coverage(reset=True)


@pytest.fixture
def no_outside():
    """Fails where PyTorch ran an operator of a compiled graph."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="cleave: ")
        yield
    assert cleave.coverage().outside == {}, str(cleave.coverage())
    assert cleave.coverage().covered_calls > 0 and not cleave.coverage().cut_by_pytorch
