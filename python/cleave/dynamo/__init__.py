"""torch.compile(model, backend="cleave")."""
from cleave.dynamo.backend import backend

__all__ = ["backend"]
