#!/usr/bin/env bash
# Fills CORPUS/TARGET with files to begin from: samples, files of the tests and the small texts beside this script.
# Usage: tests/fuzz/seeds.sh [CORPUS]        (default: tests/fuzz/corpus)
set -euo pipefail
cd "$(dirname "$0")/../.."
corpus=${1:-tests/fuzz/corpus}
# Larger files slow every run down and teach nothing that smaller ones do not.
limit=65536

# give TARGET FILE...: copies what is small enough, under the name of its content.
give() {
    local target=$1 file
    shift
    mkdir -p "$corpus/$target"
    for file in "$@"; do
        if [ "$(wc -c <"$file")" -le $limit ]; then
            cp "$file" "$corpus/$target/$(sha1sum <"$file" | cut -c 1-16)"
        fi
    done
}

data=tests/data
own=tests/fuzz/seeds
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT

give onnx sample-graphs/*.onnx $data/onnx/*.onnx
give tflite $data/tflite/*.tflite
# A program is its tables and then its weights; the tables are enough.
head -c 16384 $data/executorch/tinycnn_fwd.pte >"$made/head.pte"
give executorch "$made/head.pte"
give openvino $own/openvino.xml
give xla $data/xla/*.txt
give tflm_plan $own/tflm.txt
give vela_allocation $own/vela.txt
give op_list sample-graphs/*.json $data/oplist/*.oplist.json
give problem_json $own/problem.json
give dsa_json $own/dsa.json
give minimalloc_csv $own/problem.csv sample-graphs/*.csv $data/instances/*/*.csv
give plan_file $own/plan.json
give torch_pickle $data/torch_snapshot/*.pickle
give torch_json $data/torch_snapshot/every_field.json
printf '<!DOCTYPE html><script>const s = {"name": "x", "base64": "%s"};</script>' \
    "$(base64 -w 0 $data/torch_snapshot/every_field.p4.pickle)" >"$made/page.html"
give torch_html "$made/page.html"
# The first events of a trace, closed again.
gzip -dc $data/torch_snapshot/tinygpt_cpu_train.chrome_trace.json.gz | head -c 40000 >"$made/cut" || true
{ sed '$d' "$made/cut" | sed '$s/,[[:space:]]*$//'; echo ']}'; } >"$made/trace.json"
give chrome_trace "$made/trace.json" $own/trace.json
gzip -dc $data/torch_snapshot/tinygpt_cpu_mem_timeline.raw.json.gz | head -c 4000 | sed 's/, \[[^]]*$/]/' >"$made/raw.json" || true
give memory_timeline "$made/raw.json" $own/timeline.json
for file in $own/problem.csv $own/openvino.xml $data/onnx/loop_if_scan.onnx $data/torch_snapshot/old.pickle; do
    gzip -nc "$file" >"$made/$(basename "$file").gz"
    python3 -m zipfile -c "$made/$(basename "$file").zip" "$file"
done
give packed "$made"/*.gz "$made"/*.zip
mkdir -p "$corpus/problem"
for n in 8 64 512; do head -c $n $data/onnx/loop_if_scan.onnx >"$corpus/problem/$n"; done
du -s --apparent-size -b "$corpus"/* | sort -k 2
