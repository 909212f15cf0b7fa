"""Context overflow, told from the words that servers have for it. Pure."""

import re

_WORDINGS = (
    r"context[ _]length[ _]exceeded",  # OpenAI, Azure and LiteLLM: the error's code
    r"context ?window ?exceeded",  # LiteLLM: ContextWindowExceededError
    r"maximum context length",  # OpenAI, vLLM, SGLang, DeepSeek, OpenRouter, Mistral; LiteLLM passes it on
    r"exceeds? (the |your )?(model'?s )?(maximum |available )?context",  # OpenAI, llama.cpp, Ollama
    r"longer than the (maximum model length|(model'?s )?context length)",  # vLLM, SGLang, Together
    r"exceed_context_size",  # llama.cpp: the error's type
    r"exceed(s|ed)? (the )?(max(imum)? )?context",  # Ollama, Anthropic: "exceed context limit", llama-cpp-python
    r"context window exceeds limit",  # MiniMax
    r"greater than the context length",  # LM Studio
    r"(prompt|input) (is )?too long",  # Anthropic, Bedrock, Fireworks, Ollama
    r"maximum prompt length is \d",  # xAI
    r"input token count.*exceeds the maximum",  # Gemini
    r"must be <= \d+\. given: \d+ `inputs` tokens",  # Text Generation Inference and Together: with max_new_tokens
    r"`inputs` must have less than \d+ tokens",  # Text Generation Inference
    r"prompt token count of \d+ exceeds the limit",  # GitHub Models
    r"exceeds (the )?maximum allowed input length",  # OpenRouter
    r"exceeded model token limit",  # Moonshot
    r"reduce the length of the (messages|input|prompt)",  # Groq, vLLM
    r"number of tokens in the prompt cannot exceed",  # Cohere
    r"request_too_large",  # Anthropic: the error's type
    r"request too large for .*requested \d+",  # OpenAI and Groq: one request above the minute's whole budget
)
_OVERFLOW = re.compile("|".join(_WORDINGS), re.IGNORECASE)
_WAIT = re.compile(r"please (wait|try again|retry)|rate limit reached|throttl", re.IGNORECASE)
"""Words of a rate limit that counts tokens (OpenAI, Bedrock): the same request is fine a little later."""
_STATUSES = frozenset({200, 400, 413, 422, 429, 500})
"""200: an error object; 500: llama.cpp and Ollama of old. A refused key (401, 403) or model (404) is something else."""


def is_overflow(status: int, words: str) -> bool:
    """Say whether a failure with HTTP `status` and the endpoint's own `words` (message, code, type) is an overflow."""
    if status not in _STATUSES or not _OVERFLOW.search(words):
        return False
    return "too large" in words.lower() or not _WAIT.search(words)
