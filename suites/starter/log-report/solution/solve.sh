#!/bin/bash
set -e
cat > /tmp/report.py <<'PY'
import json
import re
from datetime import UTC, datetime

LINE = re.compile(r"(\S+Z|\S+ \S+ [+-]\d{4}) edge-\d req=(\w+) \S+ (\S+) (\d{3}) ([\d.]+)(ms|s)$")
requests = {}
for name in ("edge-1", "edge-2"):
    for line in open(f"/app/logs/{name}.log"):
        if found := LINE.match(line):
            stamp, request, path, status, length, unit = found.groups()
            day = datetime.fromisoformat(stamp.replace(" -", "-")).astimezone(UTC).date().isoformat()
            ms = round(float(length) * (1000 if unit == "s" else 1))
            requests[request] = (day, path, 500 <= int(status) <= 599, ms)
by_day = {}
for day, _, failed, _ in requests.values():
    entry = by_day.setdefault(day, {"requests": 0, "errors": 0})
    entry["requests"] += 1
    entry["errors"] += failed
slowest = sorted(requests.items(), key=lambda item: -item[1][3])[:3]
report = {
    "requests": len(requests),
    "errors": sum(entry["errors"] for entry in by_day.values()),
    "by_day": dict(sorted(by_day.items())),
    "slowest": [{"id": request, "path": path, "ms": ms} for request, (_, path, _, ms) in slowest],
}
with open("/app/report.json", "w") as out:
    json.dump(report, out, indent=2)
PY
python3 /tmp/report.py
