#!/bin/bash
set -e
wc -l < /app/words.txt > /app/count.txt
sort /app/words.txt > /app/sorted.txt
