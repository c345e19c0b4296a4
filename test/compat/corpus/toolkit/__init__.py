"""A package beside the notebook."""

__all__ = ["shapes"]
