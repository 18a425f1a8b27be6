"""The published JSON Schemas and the tables of devices, quantizations and sampler defaults."""
