"""benchlint: a linter and reproducibility checker for speculative-decoding benchmarks."""

__version__ = "0.1.0"
