"""Reading, validating and linting of benchmark reports: bytes → report → findings → output."""
