python3 - <<'EDIT'
from pathlib import Path
path = Path("candidate/src/agent-loop.ts")
text = path.read_bytes().decode() if path.is_file() else ""
function = "async function prepareToolCall("
call = "\ttry {\n\t\tconst preparedToolCall = prepareToolCallArguments(tool, toolCall);"
helper = '''\
const CHECK_REMINDER =
\t"Before submitting: check your work now by running it or inspecting the result; then submit again.";

/** True once a submit was answered in this conversation: the reminder is given one time. */
function hasSubmitted(context: AgentContext): boolean {
\treturn context.messages.some((message) => message.role === "toolResult" && message.toolName === "submit");
}

'''
gate = '''\
\tif (toolCall.name === "submit" && !hasSubmitted(currentContext)) {
\t\treturn { kind: "immediate", result: createErrorToolResult(CHECK_REMINDER), isError: true };
\t}

'''
if text.count(function) == 1 and text.count(call) == 1:
    path.write_bytes(text.replace(function, helper + function).replace(call, gate + call).encode())
    print("edited", path)
else:
    print("found no place in", path)
EDIT
