logs=${WMO_LOGS:-/logs/verifier}
app=${WMO_APP:-/app}
echo "checking"
echo "to stderr" >&2
if [ "$(cat "$app/greeting.txt")" = hello ]; then reward=1 status=passed; else reward=0 status=failed; fi
echo $reward > "$logs/reward.txt"
printf '{"results": {"tests": [{"name": "greeting", "status": "%s"}, {"name": "later", "status": "skipped"}]}}' $status \
    > "$logs/ctrf.json"
