// Run by test_termination.py with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide, MAX_NUDGES, reasonOf, type Signal, type Situation } from "../src/wmo_episode/node/termination.ts";

const SIGNAL: Signal = { finish_reason: "stop", unparsed_tool_calls: 0, provider_error: null, tool_call_turns: 0 };
const START: Situation = {
	submitted: false,
	turns: 1,
	maxTurns: 20,
	maxOutputTokens: 4096,
	nudges: 0,
	agentError: undefined,
	signal: SIGNAL,
};

function situation(change: Partial<Situation>, signal: Partial<Signal> = {}): Situation {
	return { ...START, ...change, signal: { ...SIGNAL, ...signal } };
}

test("the first reason that holds wins, in the order of the design", () => {
	const everything = { turns: 20, agentError: "boom" };
	const down = { provider_error: "down", unparsed_tool_calls: 1, finish_reason: "length" };
	assert.equal(reasonOf(situation({ ...everything, submitted: true }, down)), "provider_error");
	assert.equal(reasonOf(situation({ ...everything, submitted: true })), "submit");
	assert.equal(reasonOf(situation(everything, { unparsed_tool_calls: 1, finish_reason: "length" })), "unparsed_tool_call");
	assert.equal(reasonOf(situation(everything, { finish_reason: "length" })), "output_truncated");
	assert.equal(reasonOf(situation(everything)), "max_turns");
	assert.equal(reasonOf(situation({ agentError: "boom" })), "error");
	assert.equal(reasonOf(situation({})), "no_tool_call");
});

test("a message without a tool call is nudged, and the text depends on why", () => {
	const text = (signal: Partial<Signal>) => {
		const decision = decide(situation({}, signal));
		assert.equal(decision.kind, "nudge");
		return decision.kind === "nudge" ? decision.text : "";
	};
	assert.equal(
		text({}),
		"Your last message had no tool call. Continue with a tool call, or call submit with your answer when the task is done.",
	);
	assert.match(text({ finish_reason: "length" }), /message was cut off at the output limit of 4096 tokens/);
	assert.match(text({ unparsed_tool_calls: 1 }), /not a JSON object/);
	assert.match(text({ unparsed_tool_calls: 1, finish_reason: "length" }), /tool call was cut off .* not executed/);
});

test("after three nudges in a row the episode ends with the reason", () => {
	assert.equal(MAX_NUDGES, 3);
	assert.equal(decide(situation({ nudges: 2 })).kind, "nudge");
	assert.deepEqual(decide(situation({ nudges: 3 })), {
		kind: "done",
		reason: "no_tool_call",
		note: "the agent stopped without a tool call and without calling submit",
	});
});

test("there is no nudge after a provider error, an agent error, or the last turn", () => {
	assert.deepEqual(decide(situation({}, { provider_error: "down" })), {
		kind: "done",
		reason: "provider_error",
		note: "down",
	});
	assert.deepEqual(decide(situation({ agentError: "boom" })), { kind: "done", reason: "error", note: "boom" });
	assert.deepEqual(decide(situation({ turns: 20 })), {
		kind: "done",
		reason: "max_turns",
		note: "the agent used all of its 20 turns without calling submit",
	});
	assert.equal(decide(situation({ turns: 20 }, { unparsed_tool_calls: 1 })).kind, "done");
});

test("a submission has no note", () => {
	assert.deepEqual(decide(situation({ submitted: true })), { kind: "done", reason: "submit", note: "" });
});
