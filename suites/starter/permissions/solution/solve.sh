#!/bin/bash
set -e
cd /app
tar -xpf site.tar
cd site
find . -type d -exec chmod u=rwx,go=rx,a-st {} +
find . -type f -exec chmod 0644 {} +
find . -type f -exec sh -c '[ "$(head -c 2 "$1")" = "#!" ] && chmod 0755 "$1"' sh {} \;
find conf/secrets \( -type d -o -type f \) -exec chmod go-rwx {} +
chmod 1777 upload
