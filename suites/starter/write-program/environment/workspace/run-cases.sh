#!/bin/bash
# Runs every example in cases/ and says which ones are wrong; exit 1 if any is.
cd "$(dirname "$0")" || exit 1
status=0
for given in cases/*.in; do
    name=$(basename "$given" .in)
    if python3 versions.py < "$given" 2> /dev/null | cmp -s - "cases/$name.out"; then
        echo "ok $name"
    else
        echo "wrong $name"
        status=1
    fi
done
exit $status
