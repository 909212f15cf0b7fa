"""Context overflow in the servers' own words, and what only looks like it."""

import json

import pytest
from wmo_models.exchange import Refused, read_response

VLLM = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, "
OVERFLOWS = {
    "openai": (400, {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages "
                               "resulted in 9000 tokens. Please reduce the length of the messages.",
                               "type": "invalid_request_error", "code": "context_length_exceeded"}}),
    "openai, newer": (400, {"error": {"message": "Your input exceeds the context window of this model. Please adjust "
                                      "your input and try again.", "code": "context_length_exceeded"}}),
    "openai, minute": (429, {"error": {"message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, "
                                       "Requested 40000. The input or output tokens must be reduced in order to run "
                                       "successfully.", "type": "tokens", "code": "rate_limit_exceeded"}}),
    "vllm": (400, {"object": "error", "message": VLLM + "1000 in the completion).", "code": 400}),
    "vllm, newer": (400, {"error": {"message": "The decoder prompt (length 5000) is longer than the maximum model "
                                    "length of 4096.", "type": "BadRequestError", "code": 400}}),
    "vllm, output": (400, {"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 4096. This "
                                     "model's maximum context length is 2048 tokens and your request has 500 input "
                                     "tokens", "code": 400}}),
    "llama.cpp": (400, {"error": {"code": 400, "message": "the request exceeds the available context size. try "
                                  "increasing the context size or enable context shift",
                                  "type": "invalid_request_error"}}),
    "llama.cpp, newer": (400, {"error": {"code": 400, "message": "request (5012 tokens) exceeds the available context "
                                         "size (4096 tokens), try increasing it", "type": "exceed_context_size_error",
                                         "n_prompt_tokens": 5012, "n_ctx": 4096}}),
    "llama-cpp-python": (500, {"error": {"message": "Requested tokens (5000) exceed context window of 4096"}}),
    "ollama": (400, {"error": {"message": "input length exceeds maximum context length", "type": "api_error"}}),
    "ollama, the": (500, {"error": "the input length exceeds the context length"}),
    "ollama, runner": (400, {"error": "prompt too long; exceeded max context length by 904 tokens"}),
    "anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error",
                        "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
    "anthropic, output": (400, {"error": {"type": "invalid_request_error", "message": "input length and `max_tokens` "
                                          "exceed context limit: 188240 + 21333 > 200000, decrease input length"}}),
    "anthropic, bytes": (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    "litellm": (400, {"error": {"message": "litellm.ContextWindowExceededError: litellm.BadRequestError: "
                                "OpenAIException - too long", "type": None, "code": "400"}}),
    "tgi": (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1800 "
                  "`inputs` tokens and 1000 `max_new_tokens`", "error_type": "validation"}),
    "tgi, input": (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1800"}),
    "sglang": (400, {"object": "error", "message": "The input (5000 tokens) is longer than the model's context length "
                     "(4096 tokens).", "type": "BadRequestError", "code": 400}),
    "sglang, total": (400, {"message": "Requested token count exceeds the model's maximum context length of 4096 "
                            "tokens. You requested a total of 5000 tokens"}),
    "gemini": (400, {"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of "
                               "tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}),
    "mistral": (400, {"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for "
                      "model with 32768 maximum context length", "type": "invalid_request_error", "code": "3051"}),
    "groq": (400, {"error": {"message": "Please reduce the length of the messages or completion.",
                             "code": "context_length_exceeded"}}),
    "groq, minute": (413, {"error": {"message": "Request too large for model `x` in organization `y` on tokens per "
                                     "minute (TPM): Limit 6000, Requested 8000, please reduce your message size and "
                                     "try again.", "code": "rate_limit_exceeded"}}),
    "lm studio": (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context "
                        "length. Try to load the model with a larger context length"}),
    "bedrock": (400, {"message": "Input is too long for requested model."}),
    "xai": (400, {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
    "openrouter": (200, {"error": {"code": 400, "message": "This endpoint's maximum context length is 8192 tokens. "
                                   "However, you requested about 9000 tokens"}}),
    "moonshot": (400, {"error": {"message": "Your request exceeded model token limit: 8192 (requested: 9000)"}}),
    "minimax": (400, {"error": {"message": "invalid params, context window exceeds limit (2013)"}}),
}  # fmt: skip
OTHERS = {
    "rate limit": (429, {"error": {"message": "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, "
                                   "Used 29000, Requested 1500. Please try again in 1s."}}, "rate_limit"),
    "throttling": (429, {"message": "Too many tokens, please wait before trying again."}, "rate_limit"),
    "requests": (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
                 "rate_limit"),
    "key": (401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, "refused"),
    "model": (404, {"error": {"message": "The model `gpt-17` does not exist", "code": "model_not_found"}}, "refused"),
    "model that speaks of context": (404, {"error": "no model 'maximum context length'"}, "refused"),
    "roles": (400, {"error": {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}},
              "refused"),
    "tokens": (400, {"error": {"message": "max_tokens is too large: 100000. This model supports at most 16384 "
                               "completion tokens"}}, "refused"),
    "server": (500, {"error": {"message": "CUDA out of memory"}}, "server"),
    "busy": (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, "server"),
}  # fmt: skip


def refusal(status: int, body: object) -> Refused:
    with pytest.raises(Refused) as caught:
        read_response(status, json.dumps(body).encode())
    return caught.value


@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflow_is_recognised(name):
    found = refusal(*OVERFLOWS[name])
    assert (found.cause, found.transient) == ("overflow", False)
    assert str(found).startswith("the context is full, the endpoint answered ")


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_none_is_not(name):
    *sent, cause = OTHERS[name]
    assert refusal(*sent).cause == cause
