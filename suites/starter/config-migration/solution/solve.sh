#!/bin/bash
set -e
cat > /tmp/migrate.py <<'PY'
import json
import re

UNITS = {"": 1, "kb": 1024, "mb": 1024**2, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
ESCAPES = {"n": "\n", "t": "\t"}
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def value(text):
    if quoted := QUOTED.match(text):
        escape = r"\\(?:x([0-9a-fA-F]{2})|(.))"
        return re.sub(escape, lambda m: chr(int(m[1], 16)) if m[1] else ESCAPES.get(m[2], m[2]), quoted[1])
    text = re.split(r"\s[#;]", text)[0].strip()
    if text.lower() in ("yes", "on", "true", "no", "off", "false"):
        return text.lower() in ("yes", "on", "true")
    if number := re.fullmatch(r"([+-]?\d+)(kb|mb|ms|s|min|h|)", text):
        return int(number[1]) * UNITS[number[2]]
    return text


sections, own = {}, {}
text = re.sub(r"\\\n[ \t]*", "", open("/app/gateway.conf").read())
for line in map(str.strip, text.splitlines()):
    if not line or line[0] in "#;":
        continue
    if line[0] == "[":
        name, _, parent = (part.strip() for part in line[1:line.index("]")].partition(":"))
        sections[name], own = dict(sections[parent]) if parent else {}, {}
        continue
    key, _, raw = (part.strip() for part in line.partition("="))
    own.setdefault(key, []).append(value(raw))
    sections[name][key] = own[key] if len(own[key]) > 1 else own[key][0]
with open("/app/gateway.json", "w") as out:
    json.dump(sections, out, indent=2, ensure_ascii=False)
    out.write("\n")
PY
python3 /tmp/migrate.py
