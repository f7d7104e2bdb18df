#!/usr/bin/env bash
# Fuzzes one target for some seconds and goes on after findings, which it keeps in ARTIFACTS/TARGET.
# Usage: tests/fuzz/fuzz.sh TARGET SECONDS
#        PROGRAM=... fuzzes a program that is already built; CORPUS and ARTIFACTS name other folders.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
seconds=$2
corpus=${CORPUS:-tests/fuzz/corpus}/$target
artifacts=${ARTIFACTS:-tests/fuzz/artifacts}/$target
if [ -z "${PROGRAM:-}" ]; then
    cargo +nightly fuzz build --fuzz-dir tests/fuzz --sanitizer none "$target"
    PROGRAM=$(find tests/fuzz/target -path "*/release/$target" -type f | head -n 1)
fi
mkdir -p "$corpus" "$artifacts"
# Inputs of at most 64 KiB. Each takes milliseconds; the limit is wall time, so that it allows for a busy machine.
limits=(-max_len=65536 -timeout=60 -rss_limit_mb=2048)
end=$((SECONDS + seconds))
# Each finding ends the program; it is the same again if it is easily met, so that many say nothing new.
for _ in $(seq 20); do
    left=$((end - SECONDS))
    [ $left -gt 0 ] || break
    "$PROGRAM" "${limits[@]}" -max_total_time=$left -print_final_stats=1 -artifact_prefix="$artifacts/" "$corpus" || true
done
times
