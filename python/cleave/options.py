"""Options by name as the text that cleave reads: {"threads": 2, "strict": True} is "threads=2 strict=true"."""


def options_text(options):
    return " ".join(f"{name}={value_text(value)}" for name, value in options.items())


def value_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return f'"{text}"' if " " in text else text
