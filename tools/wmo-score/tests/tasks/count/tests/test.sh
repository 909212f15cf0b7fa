#!/bin/bash
# Two graded tests: half a reward for each.
passed=0
[ "$(cat /app/count.txt 2>/dev/null)" = 3 ] && passed=1 || echo "not ok count: /app/count.txt is not 3"
if [ "$(tr '\n' ' ' < /app/sorted.txt 2>/dev/null)" = "apple fig pear " ]; then
    passed=$((passed + 1))
else
    echo "not ok sorted: /app/sorted.txt is not the sorted list"
fi
cat > /logs/verifier/ctrf.json <<JSON
{"results": {"tool": {"name": "sh"}, "summary": {"tests": 2, "passed": $passed, "failed": $((2 - passed)),
 "pending": 0, "skipped": 0, "other": 0, "start": 0, "stop": 0}, "tests": []}}
JSON
case $passed in 2) echo 1.0 ;; 1) echo 0.5 ;; *) echo 0 ;; esac > /logs/verifier/reward.txt
