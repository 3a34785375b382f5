from tests.parity.published import published

__all__ = ["published"]
