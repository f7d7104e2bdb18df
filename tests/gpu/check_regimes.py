"""Reads a recorded run and checks what must hold between its regimes."""
import json
import sys


def main():
    record = json.load(open(sys.argv[1], encoding="utf-8"))
    ran = {report["regime"]: report for report in record["regimes"] if report["status"] == "ran"}
    faults = []
    for name, report in ran.items():
        if report["counted_curve"] != report["predicted_curve"]:
            faults.append(f"{name}: counted differs from predicted")
        if report["difference"]["unexplained"] != 0:
            faults.append(f"{name}: {report['difference']['unexplained']} bytes unexplained ({report['difference']['why']})")
    peak = {name: report["counted_peak_bytes"] for name, report in ran.items()}
    for smaller, larger in (("per-tensor", "arena"), ("arena", "all-live")):
        if smaller in peak and larger in peak and peak[smaller] > peak[larger]:
            faults.append(f"{smaller} takes {peak[smaller]}, more than {larger} with {peak[larger]}")
    for name in ("arena", "arena-graph"):
        if name in ran and (ran[name]["calls"]["setup"], ran[name]["calls"]["iteration"]) != (1, 0):
            faults.append(f"{name}: allocator calls {ran[name]['calls']}")
    if faults:
        sys.exit("; ".join(faults))
    print(", ".join(f"{name} {bytes_}" for name, bytes_ in peak.items()))


main()
