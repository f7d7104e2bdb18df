"""Writes the hand-made snapshots of this folder, and reference.json for all of them by a replay of its own.

Run it in this folder with Python 3.8 or later; it needs nothing else.
"""
import json
import pickle

MIB = 1 << 20
A, B, C, D = 0x7F0000000000, 0x7F0000200000, 0x7F0010000000, 0x7F8000000000


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


ATTENTION = [frame("c10::malloc", "CUDACachingAllocator.cpp", 0), frame("attention", "/home/me/model/attention.py", 12),
             frame("forward", "/home/me/model/block.py", 30), frame("<module>", "/home/me/train.py", 5)]
STEP = [frame("c10::malloc", "CUDACachingAllocator.cpp", 0), frame("step", "/env/lib/python3.12/site-packages/torch/optim/adamw.py", 220),
        frame("<module>", "/home/me/train.py", 9)]


def event(action, addr, size, stream=0, frames=None, **more):
    entry = {"action": action, "addr": addr, "size": size, "stream": stream}
    if frames is not None:
        entry["frames"] = frames
    entry.update(more)
    return entry


def block(address, size, requested, state, frames=()):
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": list(frames)}


def segment(address, total, kind, blocks, device=0, stream=0, pool=(0, 0), expandable=False):
    active = [b for b in blocks if b["state"] != "inactive"]
    return {"device": device, "address": address, "total_size": total, "allocated_size": sum(b["size"] for b in active),
            "active_size": sum(b["size"] for b in active), "requested_size": sum(b["requested_size"] for b in active),
            "stream": stream, "segment_type": kind, "segment_pool_id": pool, "is_expandable": expandable, "frames": [], "blocks": blocks}


def every_field():
    """Two devices, two streams, a private pool, an expandable segment, a failure, marks, metadata, an unknown action."""
    time = iter(range(1_700_000_000_000_000, 1_800_000_000_000_000, 10))
    t = lambda: {"time_us": next(time), "compile_context": "N/A", "user_metadata": ""}
    shared = {"step": 3, "tag": "warm"}
    events = [
        event("segment_alloc", B, 20 * MIB, frames=ATTENTION, **t()),
        event("alloc", B, 3 * MIB + 5, frames=ATTENTION, **t()),
        event("free_requested", A + 512, 300, frames=STEP, **t()),
        event("free_completed", A + 512, 300, frames=STEP, **t()),
        event("user_defined", 0, 0, frames=[frame("forward", "START", 0)], **t()),
        event("alloc", B + 4 * MIB, 2 * MIB, stream=7, frames=STEP, time_us=next(time), compile_context="1/0", user_metadata=shared, pool_id=(0, 0)),
        event("segment_map", C, 2 * MIB, frames=STEP, **t()),
        event("segment_map", C + 2 * MIB, 2 * MIB, frames=STEP, **t()),
        event("alloc", C, 3 * MIB, frames=STEP, time_us=next(time), user_metadata=shared, internal_metadata="kv", forward_frames=ATTENTION),
        event("free_requested", B, 3 * MIB + 5, **t()),
        {"action": "oom", "device_free": 5 * MIB, "size": 64 * MIB, "stream": 0, "frames": ATTENTION, "time_us": next(time)},
        event("free_completed", B, 3 * MIB + 5, **t()),
        event("free_requested", C, 3 * MIB, **t()),
        event("free_completed", C, 3 * MIB, **t()),
        event("segment_unmap", C + 2 * MIB, 2 * MIB, **t()),
        event("annotate", 0, 0, user_metadata="epoch 2", time_us=next(time)),
        event("brand_new_action", 0, 0, **t()),
        event("snapshot", 0, 0, **t()),
        event("alloc", B + 8 * MIB, 2 * MIB, frames=ATTENTION, **t()),
        event("free_requested", B + 8 * MIB, 2 * MIB, **t()),
    ]
    segments = [
        segment(A, 2 * MIB, "small", [block(A, 512, 100, "active_allocated", STEP), block(A + 512, 2 * MIB - 512, 0, "inactive")], pool=[1, 0]),
        segment(B, 20 * MIB, "large", [
            block(B, 4 * MIB, 0, "inactive"), block(B + 4 * MIB, 2 * MIB, 2 * MIB, "active_allocated", STEP),
            block(B + 6 * MIB, 2 * MIB, 0, "inactive"), block(B + 8 * MIB, 2 * MIB, 2 * MIB, "active_pending_free", ATTENTION),
            block(B + 10 * MIB, 10 * MIB, 0, "inactive")]),
        segment(C, 2 * MIB, "large", [block(C, 2 * MIB, 0, "inactive")], expandable=True),
        segment(D, 2 * MIB, "small", [block(D, 1024, 1000, "active_allocated"), block(D + 1024, 2 * MIB - 1024, 0, "inactive")], device=1),
    ]
    other = [event("alloc", D, 1000, frames=STEP, **t())]
    return {
        "segments": segments, "device_traces": [events, other],
        "allocator_settings": {"expandable_segments": True, "trace_alloc_overflowed": True, "trace_alloc_max_entries": 20,
                               "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)}},
        "external_annotations": [{"stage": "START", "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": 1_700_000_000_000_035},
                                 {"stage": "END", "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": 1_700_000_000_000_095},
                                 {"stage": "START", "name": "elsewhere", "device": 1, "time_us": 1_700_000_000_000_000}],
        "host_segments": [{"address": 1}], "host_traces": [[]],
    }


def old():
    """The fields of 2022: no addresses of blocks, a history in place of requested sizes, no times."""
    history = lambda size: [{"addr": 0, "frames": STEP, "real_size": size}]
    blocks = [{"size": 1024, "state": "active_allocated", "history": history(900)}, {"size": 2048, "state": "inactive"},
              {"size": 4096, "state": "active_awaiting_free", "history": history(4000)}, {"size": 2 * MIB - 7168, "state": "inactive"}]
    seg = {"device": 0, "address": A, "total_size": 2 * MIB, "allocated_size": 5120, "active_size": 5120, "stream": 0, "segment_type": "small", "blocks": blocks}
    trace = [{"action": "alloc", "addr": A + 3072, "size": 4000, "stream": 0}, {"action": "alloc", "addr": A + 1024, "size": 2000, "stream": 0},
             {"action": "free_completed", "addr": A + 1024, "size": 2000, "stream": 0}]
    return {"segments": [seg], "device_traces": [trace]}


def replay(data, device):
    """Counts and peaks, and at some steps: requested, active, reserved, free, and the largest hole; by brute force."""
    segments = data if isinstance(data, list) else data["segments"]
    traces = [] if isinstance(data, list) else data["device_traces"]
    events = traces[device] if device < len(traces) else []
    segments = [s for s in segments if s["device"] == device]
    at_end = {}
    for s in segments:
        at = s["address"]
        for b in s["blocks"]:
            address = b.get("address", at)
            at = address + b["size"]
            if b["state"] != "inactive":
                at_end[address] = (b.get("requested_size") or b["history"][0]["real_size"], b["size"])
    round_up = lambda n: (n + 511) // 512 * 512
    lives, live, never = [], {}, 0
    for step, e in enumerate(events, 1):
        if e["action"] == "alloc":
            live[e["addr"]] = len(lives)
            lives.append([e["addr"], e["size"], round_up(e["size"]), step, len(events) + 1, False])
        elif e["action"] == "free_completed":
            if e["addr"] in live:
                lives[live.pop(e["addr"])][4] = step
            else:
                lives.append([e["addr"], e["size"], round_up(e["size"]), 0, step, True])
    found = same = 0
    for address, (requested, size) in at_end.items():
        if address in live:
            found += 1
            same += lives[live[address]][1] == requested
            lives[live[address]][2] = size
        else:
            never += 1
            lives.append([address, requested, size, 0, len(events) + 1, True])
    mapped = {}
    for s in segments:
        mapped[s["address"]] = (s["total_size"], s.get("is_expandable", False))
    states = [mapped]
    for e in reversed(events):
        if e["action"] == "segment_alloc":
            mapped = {a: m for a, m in mapped.items() if a != e["addr"]}
        elif e["action"] == "segment_free":
            mapped = {**mapped, e["addr"]: (e["size"], False)}
        elif e["action"] in ("segment_map", "segment_unmap"):
            mapped = remap(mapped, e)
        states.append(mapped)
    states.reverse()
    requested, active = [0] * (len(states) + 1), [0] * (len(states) + 1)
    for _, q, r, start, end, _ in lives:
        requested[start] += q
        requested[end] -= q
        active[start] += r
        active[end] -= r
    for sums in (requested, active):
        for step in range(1, len(sums)):
            sums[step] += sums[step - 1]
    reserved = [sum(size for size, _ in state.values()) for state in states]
    rows = {}
    for step in sorted({0, len(states) - 1, *range(0, len(states), max(1, len(states) // 24))}):
        holes = free_ranges(states[step], sorted((a, a + r) for a, _, r, start, end, _ in lives if start <= step < end))
        rows[str(step)] = [requested[step], active[step], reserved[step], sum(holes), max(holes, default=0)]
    return {
        "events": len(events), "blocks": len(lives), "live_at_end": len(live), "found_at_end": found, "same_size": same, "never_traced": never,
        "pre_existing": sum(q for _, q, _, _, _, old in lives if old), "peak": max(requested), "end": requested[len(states) - 1],
        "peak_active": max(active), "peak_reserved": max(reserved), "rows": rows,
    }


def remap(mapped, e):
    """The mapped ranges before an event that maps or unmaps part of an expandable segment."""
    plain = {a: m for a, m in mapped.items() if not m[1]}
    ranges = sorted((a, a + size) for a, (size, expandable) in mapped.items() if expandable)
    begin, end = e["addr"], e["addr"] + e["size"]
    cut = [(b, x) for a, z in ranges for b, x in ((a, min(z, begin)), (max(a, end), z)) if b < x]
    if e["action"] == "segment_unmap":
        cut = sorted(cut + [(begin, end)])
    joined = []
    for b, x in sorted(cut):
        if joined and joined[-1][1] == b:
            joined[-1][1] = x
        else:
            joined.append([b, x])
    return {**plain, **{b: (x - b, True) for b, x in joined}}


def free_ranges(state, used):
    holes = []
    for address, (size, _) in sorted(state.items()):
        at = address
        for b, e in used:
            if e <= address or b >= address + size:
                continue
            if b > at:
                holes.append(b - at)
            at = max(at, e)
        if at < address + size:
            holes.append(address + size - at)
    return holes


def main():
    made = {"every_field": every_field(), "old": old(), "segments_only": every_field()["segments"]}
    for protocol in (2, 3, 4, 5):
        with open(f"every_field.p{protocol}.pickle", "wb") as f:
            pickle.dump(made["every_field"], f, protocol=protocol)
    for name in ("old", "segments_only"):
        with open(f"{name}.pickle", "wb") as f:
            pickle.dump(made[name], f, protocol=4)
    with open("every_field.json", "w") as f:
        json.dump(made["every_field"], f)
    reference = {f"every_field.p{p}.pickle": replay(made["every_field"], 0) for p in (2, 3, 4, 5)}
    reference["every_field.json"] = reference["every_field.p4.pickle"]
    reference["old.pickle"] = replay(made["old"], 0)
    reference["segments_only.pickle"] = replay(made["segments_only"], 0)
    for name in ("medium_1024_inference", "medium_128_training", "medium_256_inference"):
        with open(f"{name}.pickle", "rb") as f:
            reference[f"{name}.pickle"] = replay(pickle.load(f), 0)
    with open("reference.json", "w") as f:
        json.dump(reference, f, indent=1)


if __name__ == "__main__":
    main()
