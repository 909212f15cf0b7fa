#!/bin/bash
set -e
mkdir -p /app/out
cat > /tmp/convert.py <<'PY'
import re
from pathlib import Path


def line_text(line):
    try:
        return line.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return line.decode("cp1252"), "windows-1252"


def decode(data):
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    for mark, name in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data[:2] == mark:
            return data[2:].decode(name), name
    if b"\0" in data:
        name = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
        return data.decode(name), name
    lines = [(line, *line_text(line)) for line in data.splitlines(keepends=True)]
    kinds = {kind for line, _, kind in lines if not line.isascii()} or {"utf-8"}
    return "".join(text for _, text, _ in lines), kinds.pop() if len(kinds) == 1 else "mixed"


rows = []
for path in sorted(Path("/app/notes").iterdir()):
    text, name = decode(path.read_bytes())
    text = re.sub(r"\r\n?", "\n", text)
    Path("/app/out", path.name).write_bytes(text.encode())
    rows.append(f"{path.name}\t{name}\t{len(text)}\n")
Path("/app/out/index.tsv").write_text("".join(rows))
PY
python3 /tmp/convert.py
