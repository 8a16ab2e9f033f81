#!/usr/bin/env bash
# told.sh TEXT COMMAND…: runs what takes long and prints little: says what it is, now and then how long it has taken, and how
# long it took in the end. The exit status is that of the command.
set -u
text=$1
shift
begun=$SECONDS
echo "$text ..."
"$@" &
child=$!
trap 'kill "$child" 2>/dev/null; wait "$child"; exit 130' INT TERM
next=20
while kill -0 "$child" 2>/dev/null; do
    sleep 0.2
    if [ $((SECONDS - begun)) -ge "$next" ]; then
        echo "  ... $((SECONDS - begun)) s"
        next=$((next + 20))
    fi
done
wait "$child"
status=$?
[ "$status" -eq 0 ] && echo "  done in $((SECONDS - begun)) s" || echo "  failed after $((SECONDS - begun)) s" >&2
exit "$status"
