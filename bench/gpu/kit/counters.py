"""ncu's counters of a kernel beside what the emulator counted of the same code: wavefronts of
shared memory, sectors of global memory. Two independent counts of one thing; where they differ the
table says by how much, it is no failure."""

import csv
import io

METRICS = {
    ("shared", "read"): "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ("shared", "write"): "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ("global", "read"): "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    ("global", "write"): "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
CONFLICTS = {
    "read": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "write": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}
METRICS.update({("conflicts", way): name for way, name in CONFLICTS.items()})


def predicted(launch):
    """By the keys of METRICS; a conflict is a wavefront more than there had to be."""
    sums = dict.fromkeys(METRICS, 0)
    for access in launch["accesses"]:
        way = "write" if access["write"] else "read"
        sums["shared" if access["shared"] else "global", way] += access["cost"]
        if access["shared"]:
            sums["conflicts", way] += access["cost"] - access["ideal"]
    return sums


def counted(text):
    """[(kernel, {metric: value})] of ncu --csv --page raw: a line of names, one of units, then a
    line per launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    if len(rows) < 3 or "Kernel Name" not in rows[0]:
        return []
    return [
        (
            row[rows[0].index("Kernel Name")].split("(")[0],
            {
                name: float(row[rows[0].index(name)].replace(",", ""))
                for name in METRICS.values()
                if name in rows[0] and row[rows[0].index(name)] not in ("", "n/a")
            },
        )
        for row in rows[2:]
    ]


def compared(text, emulated):
    """(rows, why there are none)."""
    launches, rows = {launch["name"]: launch for launch in emulated}, []
    for kernel, values in counted(text):
        if kernel not in launches or launches[kernel]["launches"] != 1:
            continue
        sums = predicted(launches[kernel])
        rows.append(
            {
                "launch": kernel,
                "counts": [
                    {
                        "memory": memory,
                        "way": way,
                        "predicted": sums[memory, way],
                        "counted": values.get(metric),
                    }
                    for (memory, way), metric in METRICS.items()
                ],
            }
        )
    return rows, "" if rows else "ncu printed no counters of our kernels"


def text(row):
    parts = []
    for one in row["counts"]:
        if one["counted"] is None:
            parts.append(f"{one['memory']} {one['way']}s not counted")
        elif one["predicted"] or one["counted"]:
            same = "=" if one["counted"] == one["predicted"] else "predicted"
            parts.append(
                f"{one['memory']} {one['way']}s {one['counted']:.0f} {same}"
                f"{'' if same == '=' else ' ' + str(one['predicted'])}"
            )
    return ", ".join(parts)


def last_word(done):
    lines = [
        line.strip()
        for line in (done.stdout + done.stderr).splitlines()
        if "==ERROR==" in line or line.startswith("==")
    ]
    return lines[-1] if lines else f"exit status {done.returncode}"
