"""benchlint in CI: what the GitHub Action runs (`benchlint ci`)."""
