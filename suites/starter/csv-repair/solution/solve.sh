#!/bin/bash
set -e
cat > /tmp/repair.py <<'PY'
import csv

HEADER = ["order_id", "date", "customer", "note", "amount"]
text = open("/app/orders.csv", encoding="utf-8", newline="").read()
new, mark, old = text.partition("amount;order_id;")
orders = {}
for row in csv.DictReader(new.splitlines(keepends=True)):
    if row["order_id"] and row["order_id"] != "order_id":
        orders[int(row["order_id"])] = row
for row in csv.DictReader((mark + old).splitlines(keepends=True), delimiter=";"):
    if row["order_id"]:
        day, month, year = row["date"].split("/")
        row["date"] = f"{year}-{month}-{day}"
        row["amount"] = row["amount"].replace(".", "").replace(",", ".")
        orders[int(row["order_id"])] = row
with open("/app/orders.clean.csv", "w", encoding="utf-8", newline="") as out:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for _, row in sorted(orders.items()):
        writer.writerow([row[key].strip() for key in HEADER])
PY
python3 /tmp/repair.py
