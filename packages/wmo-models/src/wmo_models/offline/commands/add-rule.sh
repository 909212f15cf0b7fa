python3 - <<'EDIT'
from pathlib import Path
path = Path("candidate/SYSTEM.md")
path.write_bytes(path.read_bytes().rstrip(b"\n") + b"\n\nRULE\n")
print("edited", path)
EDIT
