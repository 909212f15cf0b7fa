"""Words for people on stderr: plain lines, or JSON Lines with --log-json."""

import contextlib
import json
import sys
from dataclasses import dataclass
from typing import Any

from wmo_kit.terminal import STEERING, shown


@dataclass(frozen=True)
class Log:
    """Where a tool speaks to people. `as_json` turns each line into one JSON object {"event", "message", ...fields}."""

    tool: str
    as_json: bool = False

    def say(self, event: str, message: str, **fields: Any) -> None:
        """Write one line. `event` is a stable machine word, `message` the sentence, `fields` JSON values.

        What would steer a terminal is shown as an escape, and the message's further lines are indented: words of an
        agent's in it cannot pass for a line of ours.
        Where stderr cannot take it (a file on a full disk, a closed pipe) the work goes on without the words.
        """
        if self.as_json:
            line = json.dumps({"event": event, "tool": self.tool, "message": message, **fields}, ensure_ascii=False)
            line = STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", line)  # still the same JSON
        else:
            line = shown(f"{self.tool}: {message}").replace("\n", "\n  ")
        with contextlib.suppress(OSError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
