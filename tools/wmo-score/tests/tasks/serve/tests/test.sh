#!/bin/bash
# Runs in the episode's own sandbox: a process that the agent left behind still beats.
rm -f /tmp/beat
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if [ -e /tmp/beat ]; then echo 1 > /logs/verifier/reward.txt; exit 0; fi
    sleep 0.05
done
echo "not ok beat: nothing beats"
echo 0 > /logs/verifier/reward.txt
