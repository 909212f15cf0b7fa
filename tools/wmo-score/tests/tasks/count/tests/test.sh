#!/bin/bash
# Two graded tests: half a reward for each.
passed=0
report() {
    [ "$2" = passed ] && passed=$((passed + 1)) || echo "not ok $1: $3"
    tests="$tests${tests:+, }{\"name\": \"$1\", \"status\": \"$2\", \"duration\": 0}"
}
[ "$(cat /app/count.txt 2>/dev/null)" = 3 ] && verdict=passed || verdict=failed
report count $verdict "/app/count.txt is not 3"
[ "$(tr '\n' ' ' 2>/dev/null < /app/sorted.txt)" = "apple fig pear " ] && verdict=passed || verdict=failed
report sorted $verdict "/app/sorted.txt is not the sorted list"
echo "{\"results\": {\"tool\": {\"name\": \"sh\"}, \"tests\": [$tests]}}" > /logs/verifier/ctrf.json
case $passed in 2) echo 1.0 ;; 1) echo 0.5 ;; *) echo 0 ;; esac > /logs/verifier/reward.txt
