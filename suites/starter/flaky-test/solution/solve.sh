#!/bin/bash
set -e
cd /app/stock
sed -i \
    -e 's/reservations={}):/reservations=None):/' \
    -e 's/self._reservations = reservations$/self._reservations = dict(reservations or {})/' \
    -e 's/return list({tag for tags in \(.*\) for tag in tags})/return list(dict.fromkeys(tag for tags in \1 for tag in tags))/' \
    -e 's/free = set(self._tags) - .*/free = [item for item in self._tags if self.holder(item) is None]/' \
    shelf.py
