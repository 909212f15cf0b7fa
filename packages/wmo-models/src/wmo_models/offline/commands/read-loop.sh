grep -n 'prepareToolCall' candidate/src/agent-loop.ts
sed -n '/^async function prepareToolCall/,/^}/p' candidate/src/agent-loop.ts
