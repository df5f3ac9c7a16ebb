"""FX graphs of PyTorch as the text of cleave's graphs (doc/ir.md)."""
