"""Rows of the report, in Google Benchmark's layout, and the table that is printed."""

import math


def ceiling_of(item, ceilings):
    """(seconds at best, by what), from what was measured on this device; (0, "") where that
    is not known."""
    copy = ceilings.get("copy_bytes_per_second") or ceilings.get("driver_bytes_per_second")
    limits = [(item["bytes"] / copy, "copy")] if copy and "bytes" in item else []
    types = {spec["dtype"] for spec in item["inputs"]}
    dtype = next((t for t in ("f64", "bf16", "f32") if t in types), "")
    flops = ceilings.get(f"gemm_{dtype}_flops_per_second")
    if flops and item.get("flops"):
        limits.append((item["flops"] / flops, f"{dtype} matrix product"))
    return max(limits, default=(0, ""))


def rows(lines, items, ceilings):
    """Of one Program or network: a row per contender."""
    arms, made = {f"polyte {item['arm']}": item for item in items}, []
    for name, line in lines.items():
        first, item = items[0], arms.get(name)
        row = {
            "name": f"{first.get('program') or first['network']} / {name}",
            "run_type": "iteration",
            **line,
        }
        seconds = line["real_time"] * 1e-6
        for key in ("flops", "bytes"):
            if first.get(key):
                row[f"{key}_per_second"] = first[key] / seconds
        best, by = ceiling_of(first, ceilings)
        if best:
            row["ceiling_fraction"], row["ceiling"] = best / seconds, by
        if item:
            row.update(
                {
                    key: item[key]
                    for key in ("declined", "launches", "compile_ms", "steps")
                    if key in item
                }
            )
        made.append(row)
    return made


def line_of(row):
    text = f"{row['name']:44} {row['real_time']:12.2f} us"
    if "ceiling_fraction" in row:
        text += f"  {row['ceiling_fraction']:6.3f} of {row['ceiling']}"
    if "ours_over_peer" in row:
        low, high = row["ours_over_peer_interval"]
        text += f"  ours/{row['best_peer']} {row['ours_over_peer']:.2f} [{low:.2f}, {high:.2f}]"
        text += "  LOST" if low > 1 else ""
    return text


def table(report):
    for row in report["benchmarks"]:
        yield line_of(row)
    ratios = {}
    for row in report["benchmarks"]:
        if "ours_over_peer" in row:
            ratios.setdefault(row["name"].split(" / ")[1], []).append(row["ours_over_peer"])
    for arm, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        lost = sum(value > 1 for value in values)
        yield (
            f"{arm}: geometric mean of ours/peer {mean:.2f} over {len(values)}, slower in "
            f"{lost}, worst {max(values):.2f}"
        )
    for row in report["correctness"]:
        for problem in row.get("problems", []) + ([row["failed"]] if "failed" in row else []):
            yield f"WRONG {row['id']}: {problem}"
    for name, stage in report["stages"].items():
        for one in stage["skipped"]:
            yield f"skipped in {name}: {one['what']}: {one['why']}"
