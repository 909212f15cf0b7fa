"""The offline model: a deterministic simulation of a model endpoint, for runs without key and network."""
