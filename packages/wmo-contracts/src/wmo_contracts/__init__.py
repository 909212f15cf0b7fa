"""The JSON documents that wmo's tools exchange: pydantic models and generated JSON Schemas."""
