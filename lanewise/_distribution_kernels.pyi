from lanewise._core import Forall

__all__: list[str]

def __getattr__(name: str) -> Forall: ...  # the kernels
