"""Model endpoints: OpenAI-compatible client, usage, and the offline model server."""
