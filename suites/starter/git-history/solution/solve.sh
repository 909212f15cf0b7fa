#!/bin/bash
set -e
export FILTER_BRANCH_SQUELCH_WARNING=1
token=tok_live_9f3b7c21e8
git clone -q /app/repo.bundle /app/repo
cd /app/repo
git for-each-ref --format='%(refname:lstrip=3)' refs/remotes/origin | grep -vx -e HEAD -e main | while read -r branch; do
    git branch -q --no-track "$branch" "refs/remotes/origin/$branch"
done
git remote remove origin
git filter-branch \
    --tree-filter "grep -rlZ $token . | xargs -0 -r sed -i s/$token/REDACTED/g" \
    --msg-filter "sed s/$token/REDACTED/g" \
    --tag-name-filter cat -- --all > /dev/null 2>&1
git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin
git reflog expire --expire=now --all
git gc -q --prune=now
