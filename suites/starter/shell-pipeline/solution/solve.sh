#!/bin/bash
set -e
cat > /app/busiest.sh <<'SH'
#!/bin/bash
# The five clients that were sent the most bytes; reads an access log on stdin.
export LC_ALL=C
awk '
    / "[^"]*(\\"[^"]*)*" [0-9][0-9][0-9] ([0-9]+|-)$/ { sum[$1] += $NF }
    END { for (client in sum) printf "%.0f\t%s\n", sum[client], client }
' | sort -t "$(printf '\t')" -k1,1nr -k2,2 | head -n 5
SH
chmod 755 /app/busiest.sh
