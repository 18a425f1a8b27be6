"""Writers of findings, one module per output format."""
