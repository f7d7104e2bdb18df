#!/usr/bin/env bash
# What a machine with an NVIDIA GPU must show, in about 150 s: run the program, not the tests.
#
#   gpu-proof.sh PROGRAM                   on a real GPU
#   gpu-proof.sh PROGRAM --rehearse DRIVER the same stages, small, on the tests' fake driver
#   gpu-proof.sh PROGRAM --cpu             the stages that a CPU can show
#
# One line per stage: PASS, FAIL or SKIP. A failure stops nothing; the exit code is 1 if there was any.
# The recorded runs are left in gpu-proof-out/ in the working directory.
set -uo pipefail

program=$(realpath "${1:?usage: gpu-proof.sh PROGRAM [--rehearse DRIVER | --cpu]}")
mode=${2:-gpu}
here=$(cd "$(dirname "$0")" && pwd)
samples=$here/../../sample-graphs
out=$PWD/gpu-proof-out
mkdir -p "$out"
n_passed=0 n_failed=0 n_skipped=0

device=(--device gpu)
lib=()
model=$samples/resnet50.onnx transformer=$samples/bert_base.onnx
compute=$samples/resnet50.onnx branches=$samples/parallel_branches.json
small_scale=65536 big_scale=600 iterations=50 timed=200 replays=200
case $mode in
gpu) ;;
--cpu)
    device=(--device cpu)
    compute=$samples/mobilenet_v2.onnx
    model=$samples/mobilenet_v2.onnx transformer=$here/small.json small_scale=100 big_scale=1000 iterations=2 timed=5 replays=5
    ;;
--rehearse)
    lib=(--gpu-lib "$(realpath "${3:?the fake driver is missing}")")
    compute=$here/compute.json branches=$out/branches.json
    sed 's/1024/16/g' "$samples/parallel_branches.json" >"$branches"
    model=$here/small.json transformer=$here/small.json small_scale=1 big_scale=2 iterations=3 timed=5 replays=10
    ;;
*)
    echo "gpu-proof.sh: unknown mode $mode" >&2
    exit 2
    ;;
esac

report() { # verdict stage detail
    printf '%-4s %s: %s\n' "$1" "$2" "$3"
    case $1 in
    PASS) n_passed=$((n_passed + 1)) ;;
    FAIL) n_failed=$((n_failed + 1)) ;;
    *) n_skipped=$((n_skipped + 1)) ;;
    esac
}

# expect STAGE SECONDS CODE PATTERN ARGUMENTS...: runs the program, wants this exit code and this text in its output.
expect() {
    local stage=$1 limit=$2 wanted=$3 pattern=$4 began=$SECONDS output code
    shift 4
    output=$(timeout "$limit" "$program" "$@" 2>&1)
    code=$?
    if [[ $code -ne $wanted ]]; then
        report FAIL "$stage" "exit code $code in place of $wanted: $(tail -n 3 <<<"$output" | tr '\n' ' ')"
    elif ! grep -qE -- "$pattern" <<<"$output"; then
        report FAIL "$stage" "no \`$pattern\` in its output: $(head -n 3 <<<"$output" | tr '\n' ' ')"
    else
        report PASS "$stage" "$((SECONDS - began)) s"
    fi
}

run() { # the program's `run` on the device under test
    echo run "$@" "${device[@]}" "${lib[@]}"
}

# 1: what there is
if [[ $mode == gpu ]]; then
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | sed 's/^/     /'
        report PASS "1 driver summary" "the driver's own tool answers"
    else
        report SKIP "1 driver summary" "the driver's own tool is not installed"
    fi
else
    report SKIP "1 driver summary" "no real driver in this mode"
fi

# 2: the probe
if [[ $mode == --cpu ]]; then
    expect "2 devices" 20 0 '"kind": "cpu"' devices --json
else
    expect "2 devices" 20 0 '"outcome": "ready"' devices --json "${lib[@]}"
fi

# 3: integrity, small and at size
# shellcheck disable=SC2046 # arguments without blanks, except paths of the repository
expect "3a integrity, small graph" 60 0 'clean' $(run "$here/small.json" --regimes arena --iterations 0 --checks "$iterations" --scale "$small_scale")
expect "3b integrity, convolutional net" 120 0 'clean' $(run "$model" --regimes arena --iterations 0 --checks "$iterations" -o "$out/integrity.json")
expect "3c integrity, transformer at size" 120 0 'clean' $(run "$transformer" --regimes arena --iterations 0 --checks "$iterations" --scale "$big_scale" --budget 100GiB)

# 4: planted bugs are found and named
expect "4a planted overlap" 30 3 '`a`, read by `make c`.*`make b`' $(run "$here/small.json" --plant overlap --iterations 0)
expect "4b planted early free" 30 3 '`a`, read by `make e`' $(run "$here/small.json" --plant early-free --iterations 0)
expect "4c planted wrong in-place" 30 3 '`make b`' $(run "$here/small.json" --plant in-place --iterations 0)
expect "4d planted wrong view offset" 30 3 '`view`, read by `make output`' $(run "$here/small.json" --plant view --iterations 0)
expect "4e planted too small tensor" 30 3 'wrong words' $(run "$here/small.json" --plant too-small --iterations 0)

# 5: all regimes, counted as predicted, no difference without a reason
expect "5 all regimes" 180 0 'arena' $(run "$model" --iterations "$timed" -o "$out/regimes.json")
if [[ -s $out/regimes.json ]] && command -v python3 >/dev/null; then
    if verdict=$(python3 "$here/check_regimes.py" "$out/regimes.json" 2>&1); then
        report PASS "5b regimes against each other" "$verdict"
    else
        report FAIL "5b regimes against each other" "$verdict"
    fi
fi

# 6: replay without a single allocator call
if [[ $mode == --cpu ]]; then
    report SKIP "6 graph replay" "a CPU has no graph of launches"
else
    expect "6 graph replay" 60 0 'arena-graph +1 +0 +0 +0' $(run "$here/small.json" --regimes arena,arena-graph --iterations "$replays")
fi

# 6: branches on two streams; without the plan's waits a real device clobbers only if its streams happen to meet
expect "6b branches, plan for streams" 60 0 'clean' $(run "$branches" --streams 2 --waits graph --parallel ancestors --regimes arena --iterations "$replays")
expect "6c branches, serial plan with its waits" 60 0 'of the graph and 4 of the plan' $(run "$branches" --streams 2 --regimes arena --iterations "$replays")
if [[ $mode == gpu ]]; then
    report SKIP "6d branches, serial plan without waits" "chance decides whether it shows"
else
    expect "6d branches, serial plan without waits" 60 3 'which no wait keeps out' $(run "$branches" --streams 2 --waits graph --regimes arena --iterations 0)
fi

# 7: computing gives the same bits in the arena as without any sharing, and what 64-bit arithmetic gives
expect "7a compute" 240 0 'compared bit for bit' $(run "$compute" --mode compute --iterations 3 -o "$out/compute.json")
expect "7b compute, planted overlap" 60 3 'wrong words' $(run "$here/compute.json" --mode compute --plant overlap --iterations 0)
expect "7c compute, planted wrong in-place" 60 3 'wrong words' $(run "$here/compute.json" --mode compute --plant in-place --iterations 0)
expect "7d compute, planted wrong view offset" 60 3 'wrong words' $(run "$here/compute.json" --mode compute --plant view --iterations 0)
expect "7e compute, planted too small tensor" 60 3 'wrong words' $(run "$here/compute.json" --mode compute --plant too-small --iterations 0)

# 7: the footprint inside the arena is the predicted one
expect "7f footprint" 60 0 'as predicted at 7 of 7 steps' $(run "$here/small.json" --regimes arena --iterations 0 --footprint)

# 8: too large is said with numbers, and no crash
expect "8a budget too small" 30 4 'does not fit' $(run "$here/small.json" --regimes arena --iterations 0 --budget 1MiB)
expect "8b larger than the device" 30 4 'not run|do not fit' $(run "$here/small.json" --regimes arena --iterations 0 --scale 1000000000)

# 9: a long run is cancelled
expect "9 cancel" 20 7 'cancelled' $(run "$here/small.json" --regimes arena --iterations 4000000000 --stop-after 1)

# 10: no memory is left behind: the same run fits again
expect "10 memory is given back" 60 0 'clean' $(run "$here/small.json" --iterations 0)

# 11: the kernels under the sanitizer, where it is installed
if [[ $mode == gpu ]] && command -v compute-sanitizer >/dev/null; then
    if timeout 120 compute-sanitizer --target-processes all --error-exitcode 9 "$program" run "$here/small.json" --device gpu --regimes arena --iterations 0 --checks 1 >"$out/sanitizer.txt" 2>&1; then
        report PASS "11 compute-sanitizer" "kernels are clean"
    else
        report FAIL "11 compute-sanitizer" "see $out/sanitizer.txt"
    fi
else
    report SKIP "11 compute-sanitizer" "not installed, or not a real GPU"
fi

printf '%d passed, %d failed, %d skipped\n' "$n_passed" "$n_failed" "$n_skipped"
[[ $n_failed -eq 0 ]]
