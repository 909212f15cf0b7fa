#!/bin/bash
if [ "$(cat "${WMO_APP:-/app}/greeting.txt" 2>/dev/null)" = hello ]; then
    echo 1.0 > "${WMO_LOGS:-/logs/verifier}/reward.txt"
else
    echo "not ok greeting: /app/greeting.txt does not say hello"
    echo 0.0 > "${WMO_LOGS:-/logs/verifier}/reward.txt"
fi
