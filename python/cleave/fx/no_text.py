class NoText(Exception):
    """A value or call of PyTorch that the text of cleave's graphs can't say; the message is the reason."""
