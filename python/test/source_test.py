"""Errors, warnings, texts and logs say which line of the user's program they speak of."""
import inspect
import logging

import pytest
import torch

import cleave

HERE = "source_test.py"


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return f"{HERE}:{first + next(k for k, line in enumerate(lines) if text in line)}"


class Lookup(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)

    def forward(self, i):
        rows = self.table(i)
        return rows.sin().sum()


def zeta(x):
    y = x + 1
    return torch.special.zeta(y, y)


def double(x):
    y = x.sin()
    return y * 2


def test_traced_programs():
    text = str(cleave.trace(double)(torch.ones(2)))
    assert line_of(double, "y = ") in text and line_of(double, "return") in text
    assert line_of(Lookup, "rows.sin()") in str(cleave.trace(Lookup())(torch.arange(3)))


@pytest.mark.parametrize("way", ["compile", "trace", "step"])
def test_an_index_out_of_range(way):
    model = Lookup()
    if way == "compile":
        f = torch.compile(model, backend="cleave")
    elif way == "trace":
        f = cleave.trace(model)(torch.arange(3))
    else:
        f = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (torch.arange(3),))
    f(torch.arange(3))
    with pytest.raises(cleave.UserError, match="index 7 is out of range") as caught:
        f(torch.tensor([1, 7, 2]))
    assert line_of(Lookup, "self.table(i)") in str(caught.value)


def test_what_isnt_covered():
    with pytest.raises(cleave.Unsupported, match="special_zeta") as caught:
        cleave.trace(zeta)(torch.ones(2))
    assert line_of(zeta, "special.zeta") in str(caught.value)
    with pytest.warns(UserWarning, match="special_zeta") as warned:
        torch.compile(zeta, backend="cleave")(torch.ones(2))
    assert any(line_of(zeta, "special.zeta") in str(w.message) for w in warned)
    assert line_of(zeta, "special.zeta") in repr(cleave.coverage())


def test_compilations_are_logged(caplog):
    with caplog.at_level(logging.INFO, "cleave"):
        cleave.trace(double)(torch.ones(2))(torch.ones(2))
        model = Lookup()
        cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (torch.arange(3),))(torch.arange(3))
    assert any("ready after" in r.getMessage() for r in caplog.records)
    assert {r.name for r in caplog.records} == {"cleave"}


def test_a_handler_that_raises_ends_nothing(monkeypatch):
    class Raising(logging.Handler):
        def emit(self, record):
            raise ValueError("no disk")

    logger, handler = logging.getLogger("cleave"), Raising()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda u: seen.append(str(u.exc_value)))
    try:
        model = Lookup()
        step = cleave.Step(model, torch.optim.SGD(model.parameters(), lr=0.1), (torch.arange(3),))
        assert step(torch.arange(3)) != 0 and "no disk" in seen
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
