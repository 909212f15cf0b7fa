// Why an episode goes on or ends. Pure: entry.ts asks after every run of the agent.

/** The host's view of the last completion, as GET /signal gives it. */
export interface Signal {
	finish_reason: string | null;
	unparsed_tool_calls: number;
	provider_error: string | null;
	tool_call_turns: number;
}

/** Where the episode stands when the agent has stopped. */
export interface Situation {
	submitted: boolean;
	/** Assistant turns so far. */
	turns: number;
	maxTurns: number;
	maxOutputTokens: number;
	/** Nudges since the last turn that had a tool call. */
	nudges: number;
	/** What broke the agent itself, if anything did. */
	agentError: string | undefined;
	signal: Signal;
}

export type Reason =
	| "submit"
	| "provider_error"
	| "unparsed_tool_call"
	| "output_truncated"
	| "max_turns"
	| "error"
	| "no_tool_call";

export type Decision = { kind: "nudge"; text: string } | { kind: "done"; reason: Reason; note: string };

/** Consecutive nudges before the episode ends (design 5). */
export const MAX_NUDGES = 3;

/** Gives the first reason that holds, in the order of design 5. */
export function reasonOf(situation: Situation): Reason {
	const { signal } = situation;
	if (signal.provider_error !== null) return "provider_error";
	if (situation.submitted) return "submit";
	if (signal.unparsed_tool_calls > 0) return "unparsed_tool_call";
	if (signal.finish_reason === "length") return "output_truncated";
	if (situation.turns >= situation.maxTurns) return "max_turns";
	if (situation.agentError !== undefined) return "error";
	return "no_tool_call";
}

/** Decides what follows when the agent has stopped: another try with a hint, or the end. */
export function decide(situation: Situation): Decision {
	const reason = reasonOf(situation);
	const cut = situation.signal.finish_reason === "length";
	const mayGoOn = situation.turns < situation.maxTurns && situation.nudges < MAX_NUDGES;
	const hint = nudgeText(reason, cut, situation.maxOutputTokens);
	if (hint !== undefined && mayGoOn) return { kind: "nudge", text: hint };
	return { kind: "done", reason, note: noteOf(reason, cut, situation) };
}

const GO_ON = "Continue with a tool call, or call submit with your answer when the task is done.";

function nudgeText(reason: Reason, cut: boolean, maxOutputTokens: number): string | undefined {
	const limit = `the output limit of ${maxOutputTokens} tokens`;
	switch (reason) {
		case "no_tool_call":
			return `Your last message had no tool call. ${GO_ON}`;
		case "output_truncated":
			return `Your last message was cut off at ${limit} before any tool call. Write less. ${GO_ON}`;
		case "unparsed_tool_call":
			return cut
				? `Your last tool call was cut off at ${limit} and was not executed. Split the work into smaller calls. ${GO_ON}`
				: `The arguments of your last tool call were not a JSON object, so nothing was executed. Write valid JSON. ${GO_ON}`;
		default:
			return undefined;
	}
}

function noteOf(reason: Reason, cut: boolean, { maxTurns, maxOutputTokens, agentError, signal }: Situation): string {
	switch (reason) {
		case "submit":
			return "";
		case "provider_error":
			return signal.provider_error ?? "";
		case "unparsed_tool_call":
			return cut
				? `a tool call was cut off at the output limit (max_output_tokens ${maxOutputTokens}) and was not executed`
				: "the arguments of a tool call were not a JSON object, so it was not executed";
		case "output_truncated":
			return `the message was cut off at the output limit (max_output_tokens ${maxOutputTokens}) before any tool call`;
		case "max_turns":
			return `the agent used all of its ${maxTurns} turns without calling submit`;
		case "error":
			return agentError ?? "";
		case "no_tool_call":
			return "the agent stopped without a tool call and without calling submit";
	}
}
