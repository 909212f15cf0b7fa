#!/bin/bash
set -e
mkdir -p /tmp/e /app/recovered
cd /tmp/e
tar xf /app/evidence.tar
# The snapshot of the 15th holds the ledger twice: once from before the change and once from after it.
tar xzf snapshots/2024-05-15.dat --occurrence=1 -O srv/ledger.csv > /app/recovered/ledger.csv
tar xzf snapshots/2024-05-15.dat --occurrence=2 -O srv/ledger.csv > changed.csv
payment=$(diff /app/recovered/ledger.csv changed.csv | sed -n 's/^< \(P-[0-9]*\),.*/\1/p')
before=$(grep "^$payment," /app/recovered/ledger.csv | cut -d, -f3)
after=$(grep "^$payment," changed.csv | cut -d, -f3)
# The audit log says which session wrote the ledger when the changed member was last modified; each su leads one session back.
python3 -c "import zipfile; zipfile.ZipFile('logs/audit.zip').extractall('logs')"
tar xzf logs/sessions.tgz
stamp=$(TZ=UTC tar tvzf snapshots/2024-05-15.dat --full-time | awk '$6 == "srv/ledger.csv" { print $4 " " $5 }' | tail -n 1)
at=$(date -u -d "$stamp UTC" +%Y-%m-%dT%H:%M:%SZ)
session=$(zcat logs/audit.2.gz | grep '/srv/ledger.csv write' | while read -r day time zone session rest; do
    if [ "$(date -u -d "$day $time $zone" '+%Y-%m-%d %H:%M:%S')" = "$stamp" ]; then echo "${session#session=}"; fi
done)
while from=$(sed -n "s/^$session su session \([0-9]*\) .*/\1/p" sessions.log) && [ -n "$from" ]; do session=$from; done
person=$(sed -n "s/^$session login \([a-z]*\) .*/\1/p" sessions.log)
printf '{"payment": "%s", "before": "%s", "after": "%s", "person": "%s", "at": "%s"}\n' \
    "$payment" "$before" "$after" "$person" "$at" > /app/findings.json
