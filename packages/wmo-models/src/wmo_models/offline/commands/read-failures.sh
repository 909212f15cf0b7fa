python3 - history/CANDIDATE <<'READ'
import json
import sys
from collections import Counter
from pathlib import Path
candidate = Path(sys.argv[1])
failing = []
for cell in json.loads((candidate / "report.json").read_text())["cells"]:
    if not cell["passed"]:
        trial = candidate / "trials" / cell["task_id"] / f"attempt-{cell['attempt']}"
        result = trial / "wmo-run.json"
        reason = json.loads(result.read_text())["stop_reason"] if result.is_file() else ""
        said = "\n".join(file.read_text(errors="replace") for file in sorted(trial.glob("verifier/*.txt")))
        wrong = [line[:120] for line in said.splitlines() if line.lower().startswith(("not ok", "fail", "error"))]
        failing.append({"task": cell["task_id"], "stop_reason": reason, "verifier": wrong[:2]})
print(json.dumps({"stop_reasons": Counter(trial["stop_reason"] for trial in failing)}))
for trial in failing[:40]:
    print(json.dumps(trial))
READ
