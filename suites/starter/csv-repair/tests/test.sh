#!/bin/bash
# Grades /app: writes reward.txt and ctrf.json to /logs/verifier.
exec python3 -I /tests/checks.py
