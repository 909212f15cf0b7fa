python3 - <<'READ'
import json
for entry in json.load(open("history/manifest.json"))["candidates"]:
    print(json.dumps({"id": entry["candidate_id"], "score": entry["score"], "summary": (entry["summary"] or "")[:120]}))
READ
