"""Words for people on stderr: plain lines, or JSON Lines with --log-json."""

import contextlib
import json
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Log:
    """Where a tool speaks to people. `as_json` turns each line into one JSON object {"event", "message", ...fields}."""

    tool: str
    as_json: bool = False

    def say(self, event: str, message: str, **fields: Any) -> None:
        """Write one line. `event` is a stable machine word, `message` the sentence, `fields` JSON values.

        Where stderr cannot take it (a file on a full disk, a closed pipe) the work goes on without the words.
        """
        if self.as_json:
            line = json.dumps({"event": event, "tool": self.tool, "message": message, **fields}, ensure_ascii=False)
        else:
            line = f"{self.tool}: {message}"
        with contextlib.suppress(OSError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
