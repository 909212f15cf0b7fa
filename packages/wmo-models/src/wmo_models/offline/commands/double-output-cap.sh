python3 - <<'EDIT'
import re
from pathlib import Path
path = Path("candidate/config.toml")
text = path.read_bytes().decode() if path.is_file() else "[harness]\n"
found = re.search(r"^max_output_tokens *= *([0-9_]+)", text, re.MULTILINE)
line = f"max_output_tokens = {2 * int(found[1]) if found else 8192}"
new = text.replace(found[0], line) if found else text.replace("[harness]\n", f"[harness]\n{line}\n")
path.write_bytes(new.encode())
print("edited" if new != text else "found no place in", path, line)
EDIT
