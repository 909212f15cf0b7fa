#!/bin/bash
set -e
cat > /tmp/body.sh <<'BODY'
set -euo pipefail
export LC_ALL=C

dir=$1
out=$2
if [ ! -d "$dir" ]; then
    echo "collect.sh: '$dir' is not a directory" >&2
    exit 2
fi

all_lines=0
all_errors=0
shopt -s nullglob
{
    printf 'file\tlines\terrors\n'
    for report in "$dir"/*.txt; do
        lines=$(awk 'END { print NR }' < "$report")
        errors=$(awk '/^ERROR / { n++ } END { print n + 0 }' < "$report")
        all_lines=$((all_lines + lines))
        all_errors=$((all_errors + errors))
        name=${report##*/}
        printf '%s\t%d\t%d\n' "${name%.txt}" "$lines" "$errors"
    done
    printf 'TOTAL\t%d\t%d\n' "$all_lines" "$all_errors"
} > "$out"
BODY
{ sed '/^set -euo/,$d' /app/collect.sh; cat /tmp/body.sh; } > /tmp/collect.sh
cat /tmp/collect.sh > /app/collect.sh
/app/collect.sh /app/reports /app/summary.tsv
