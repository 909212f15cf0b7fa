#!/bin/bash
if [ "$(cat /app/greeting.txt 2>/dev/null)" = hello ]; then
    echo 1.0 > /logs/verifier/reward.txt
else
    echo "not ok greeting: /app/greeting.txt does not say hello"
    echo 0.0 > /logs/verifier/reward.txt
fi
