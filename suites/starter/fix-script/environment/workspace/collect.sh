#!/bin/bash
# Usage: collect.sh DIR OUT
#
# Summarises every report DIR/*.txt in OUT, a table with tabs between the columns:
#   file    lines   errors      the header
#   NAME    n       n           one row a report: its name without .txt, in byte order of the names
#   TOTAL   n       n           the sums, always the last row
# An error is a line that starts with "ERROR ". A last line without a newline is a line like any other.
# A directory without reports gives the header and a TOTAL of 0 and 0.
# Where DIR is not a directory: a message on stderr, exit 2, and OUT is left as it was.
set -euo pipefail

dir=$1
out=$2
all_lines=0
all_errors=0

printf 'file\tlines\terrors\n' > $out
for report in $(ls $dir | grep '.txt'); do
    lines=$(wc -l < $dir/$report)
    errors=$(grep -c ERROR $dir/$report)
    let all_lines+=lines
    let all_errors+=errors
    printf '%s\t%d\t%d\n' ${report%.txt} $lines $errors >> $out
done
printf 'TOTAL\t%d\t%d\n' $all_lines $all_errors >> $out
