mkdir -p candidate/skills && cat > candidate/skills/git-history-surgery.md <<'EDIT'
---
name: git-history-surgery
description: how to remove or replace something in the whole history of a git repository, with all branches and tags
---
A new commit changes nothing in the old ones: their objects still hold the text. To change history, rewrite every
commit.

1. Make a clone with every branch as a local one: `git branch --no-track NAME refs/remotes/origin/NAME` for each, then
   `git remote remove origin`, so that no remote ref keeps old commits alive.
2. Rewrite all refs in one go, which keeps authors, dates, merges and empty commits:

       git filter-branch --tree-filter 'COMMAND THAT EDITS THE FILES' --msg-filter 'sed s/OLD/NEW/g' \
           --tag-name-filter cat -- --all

   `--tag-name-filter cat` moves the tags along; `--msg-filter` covers the messages.
3. Remove what still points at the old commits: `git for-each-ref --format='delete %(refname)' refs/original |
   git update-ref --stdin`, then `git reflog expire --expire=now --all`, then `git gc --prune=now`.
4. Prove it: search all objects (`git cat-file --batch-all-objects --batch | grep -ac TEXT` must give 0), compare the
   lists of branches and tags with the original's, and look at `git status`.
EDIT
[ -s candidate/skills/git-history-surgery.md ] && echo edited candidate/skills/git-history-surgery.md
