from typing import Any

__all__: list[str]

def __getattr__(name: str) -> Any: ...
