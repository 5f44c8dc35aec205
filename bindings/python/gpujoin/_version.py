"""The version of this package, which is that of the header it follows; pyproject.toml reads it."""

__version__ = "0.2.0"
