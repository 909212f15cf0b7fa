exec 3<> /dev/tcp/127.0.0.1/8765 || { echo 0 > "${WMO_LOGS:-/logs/verifier}/reward.txt"; exit 1; }
printf 'GET /page.txt HTTP/1.0\r\n\r\n' >&3
grep -q 'the page' <&3 && echo 1.0 > "${WMO_LOGS:-/logs/verifier}/reward.txt"
