"""Writes docs/mesh-results.md and its plots from the figures of the simulations.

usage: mesh_results.py FIGURES DOCS

FIGURES is what the example `mesh_results` of the simulator wrote, one line of JSON for each row. Used by `cargo xtask sim`.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Constants of the arithmetic beyond what was simulated.
CELL = 50_000
REPLICAS = 10
CELLS_PER_VECTOR = 2
SECONDS_PER_DAY = 86_400


def main(figures, docs):
    rows = [json.loads(line) for line in open(figures, encoding="utf-8")]
    folder = docs / "mesh-results"
    folder.mkdir(exist_ok=True)
    kinds = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row)
    plot_widths(kinds.get("width", []), folder / "cells-asked.png")
    plot_spread(kinds.get("spread", []), folder / "spread.png")
    plot_sizes(kinds.get("size", []), folder / "sizes.png")
    large = pathlib.Path(figures).with_name("large-sync.jsonl")
    synced = [json.loads(line) for line in open(large, encoding="utf-8")] if large.exists() else []
    (docs / "mesh-results.md").write_text(page(kinds) + large_sync(synced), encoding="utf-8")


def large_sync(rows):
    """The section about real descriptions, from what the example `large_sync` printed."""
    body = [[f"{row['agents']:,}", "yes" if row["vectors"] else "no", f"{row['recordBytes'] / 1e6:.0f}", f"{row['signSeconds']:.0f}",
             f"{row['restoreSeconds']:.0f}", f"{row['bytesHeld'] / 1e6:.0f}", f"{row['syncSeconds']:.0f}", f"{row['syncMessages']:,}",
             f"{row['syncBytes'] / 1e6:.0f}"] for row in rows]
    head = ["agents", "vectors", "MB of records", "s to sign", "s to restore and verify", "MB of memory of the catalogue",
            "s to synchronise", "messages", "MB both ways"]
    return f"""
## 100,000 real descriptions

`cargo run -p agentsite-sim --example large_sync -- CORPUS 100000 [--vectors]`: a catalogue of 400 sites is read from its records, then an empty one is brought in step with it, in one process and through the wire form. {rows[0]['descriptions']
        if rows else 0:,} descriptions are real; they are repeated with a number at the end. Vectors (one of the agent, one of its skill) are random numbers, which take the same bytes. Seconds are those of a processor in the dev profile; both sides begin a session, so that much is asked for twice.

""" + table(head, body)


def figure():
    drawn, axes = plt.subplots(figsize=(5.2, 3.2), dpi=90)
    axes.grid(alpha=0.3)
    return drawn, axes


def save(drawn, path):
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Software": None})
    plt.close(drawn)


def plot_widths(rows, path):
    drawn, axes = figure()
    for cells in sorted({row["cells"] for row in rows}):
        own = [row for row in rows if row["cells"] == cells]
        for key, style in (("scoreRatio", "-o"), ("rightSkill", "--s"), ("recall", ":^")):
            names = {"scoreRatio": "score ratio", "rightSkill": "right skill", "recall": "recall@10"}
            axes.plot([row["effort"] for row in own], [row[key] for row in own], style, ms=3, lw=1,
                      label=f"{names[key]}, {cells} cells")
    axes.axhline(0.95, color="grey", lw=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("most cells asked")
    axes.set_ylabel("share")
    axes.legend(fontsize=6)
    save(drawn, path)


def plot_spread(rows, path):
    drawn, axes = figure()
    for key, style in (("publish", "o"), ("unpublish", "s")):
        axes.plot([row["seed"] for row in rows], [row[key] for row in rows], style, ms=3, label=key)
    axes.axhline(1_000, color="grey", lw=0.8)
    axes.set_ylim(0, 1_200)
    axes.set_xlabel("seed")
    axes.set_ylabel("ms until all of 100 sites know")
    axes.legend(fontsize=7)
    save(drawn, path)


def plot_sizes(rows, path):
    drawn, axes = figure()
    for effort in sorted({row["effort"] for row in rows}):
        own = [row for row in rows if row["effort"] == effort]
        axes.plot([row["agents"] for row in own], [row["scoreRatio"] for row in own], "-o", ms=3,
                  label=f"score ratio, at most {effort} cells")
    axes.set_xscale("log")
    axes.set_xlabel("agents")
    axes.set_ylabel("score ratio")
    axes.legend(fontsize=7)
    save(drawn, path)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def share(value):
    return f"{value:.3f}"


def number(value):
    return f"{value:,.0f}"


def quality(row):
    return [share(row["recall"]), share(row["scoreRatio"]), f"{share(row['rightSkill'])} of {share(row['rightSkillExact'])}", f"{row['asked']:.1f}",
            f"{row['median']:.0f} / {row['p99']:.0f}", number(row["bytes"])]


QUALITY = ["recall@10", "score ratio", "right skill, of exact", "cells asked", "ms, median / p99", "bytes per search"]


def page(kinds):
    parts = [INTRODUCTION, "## Spreading\n", spread(kinds.get("spread", [])),
             "![Time until all sites know](mesh-results/spread.png)\n",
             "## From one cell to a million agents\n", SIZES,
             table(["sites", "agents", "at most asked", *QUALITY],
                   [[number(row["nodes"]), number(row["agents"]), row["effort"], *quality(row)]
                    for row in kinds.get("size", [])]),
             table(["sites", "agents", "cells", "copies of a cell", "vectors in the fullest", "copied entries",
                    "memory of the simulation", "bytes per update", "ms until all servers have 50 updates",
                    "idle bytes/s per site", "lost updates", "wall s"],
                   [[number(row["nodes"]), number(row["agents"]), row["cells"],
                     f"{row['leastCopies']} to {row['mostCopies']}", number(row["fullest"]), number(row["entries"]),
                     f"{row['memory'] / 1e9:.2f} GB", number(row["updateBytes"]), number(row["updateMillis"]),
                     number(row["idleBytesPerSecond"] / row["nodes"]), row["lost"], number(row["seconds"])]
                    for row in kinds.get("world", [])]),
             "![Score ratio by the number of agents](mesh-results/sizes.png)\n",
             "## Many small cells\n", WIDTHS,
             table(["agents", "cells", "at most asked", *QUALITY],
                   [[number(row["agents"]), row["cells"], row["effort"], *quality(row)]
                    for row in kinds.get("width", [])]),
             "![Quality by the number of cells asked](mesh-results/cells-asked.png)\n",
             "## Servers and sites that lie\n",
             table(["servers that leave the best five out", "omissions caught", *QUALITY],
                   [["one in five" if row["omitsEvery"] else "none", row["caught"], *quality(row)]
                    for row in kinds.get("omit", [])]),
             table(["Sybil identities at four addresses", "honest share of the top ten", "score ratio"],
                   [[number(row["sybils"]), share(row["honest"]), share(row["scoreRatio"])]
                    for row in kinds.get("sybil", [])]),
             SYBILS, "## A partition of half an hour\n",
             table(["seed", "missing copies at its end", "lost updates after it", "ms until none is missing",
                    "different codebooks"],
                   [[row["seed"], number(row["during"]), row["lost"], number(row["heal"]), row["codebooks"]]
                    for row in kinds.get("partition", [])]),
             arithmetic(kinds.get("world", []), kinds.get("size", []))]
    return "\n".join(part for part in parts if part)


def spread(rows):
    if not rows:
        return ""
    publish, unpublish = (sorted(row[key] for row in rows) for key in ("publish", "unpublish"))
    return (f"Time until **all** other sites of 100 know, over {len(rows)} seeds: publish {publish[0]} to {publish[-1]} ms, "
            f"unpublish {unpublish[0]} to {unpublish[-1]} ms. The aim is one second for 99 %.\n")


def arithmetic(worlds, sizes):
    if not worlds or not sizes:
        return ""
    world = worlds[-1]
    per_agent = world["entries"] / (world["agents"] * REPLICAS)
    at_eight = [row for row in sizes if row["agents"] == world["agents"] and row["effort"] == 8][0]
    rows = []
    for agents, servers in ((10**6, 10**3), (10**7, 10**4), (10**8, 10**5), (10**9, 10**6)):
        # Vectors per agent as simulated; cells are three quarters full on average, as after halving.
        cells = max(1, world["cells"] * agents / world["agents"])
        entries = agents * per_agent * REPLICAS / servers
        traffic = agents * world["updateBytes"] / SECONDS_PER_DAY / servers * 8 / 1_000
        rows.append([number(agents), number(cells), number(servers), number(entries), f"{entries * 640 / 1e6:,.0f} MB",
                     f"{traffic:,.1f} kbit/s", f"{cells * 1.5e3 / 1e6:,.1f} MB", f"{cells * 40e-9 * 1e3:,.1f} ms"])
    return ("## The arithmetic to a billion\n\n"
            f"From the row with {number(world['agents'])} agents: an agent is in {per_agent:.1f} cells, a change causes "
            f"{number(world['updateBytes'])} bytes in all, a search of at most eight cells {number(at_eight['bytes'])} bytes and "
            f"{at_eight['median']:.0f} ms. One change per agent and day; 640 bytes of memory for each entry; 1.5 kB for the record of a "
            "split; 40 ns to compare a vector with a centroid. **None of these rows was simulated.** How good answers are at 10^9 is "
            "not shown by arithmetic: the table above with many small cells is the nearest measurement.\n\n"
            + table(["agents", "cells", "servers", "entries per server", "memory per server", "traffic per server",
                     "codebook", "time to rank all cells"], rows))


INTRODUCTION = """# Results of the mesh simulations

Written by `cargo xtask sim`; do not edit. Tables without rows are of parts that were not run yet (`cargo xtask sim` runs all of them). [mesh.md](mesh.md) explains the terms. Times are virtual, on links of 10 to 100 ms that lose one
message in a hundred; wall seconds and memory are those of one process in the dev profile on a shared machine.

Agents are made up: each has one or two of 320 skills, whose vectors are those of real sentences by the model of the protocol, with noise of 0.35; questions are
real sentences about one skill. *Recall* is the share of the true ten best that was found; agents with one skill are near ties, so it is strict. *Score ratio* is the
nearness of what was found as a share of that of the true ten; *right skill* is the share of answers that have the
skill that was asked for, next to the share that an exact search reaches with the same vectors.
"""

SIZES = """Cells of 50,000 vectors with ten copies each. One site in five (1,000 sites) or eight (10,000 sites) serves cells; the others publish and search. Agents are put
into place at the start; searches, changes and comparisons are then simulated.
"""

WIDTHS = """1,000 sites with cells of 1,000 or 4,000 vectors, so that there are as many cells as a far larger network has, with fewer agents in each.
"""

SYBILS = """Each Sybil publishes an agent whose vector is that of one of 40 questions exactly, the best an attacker can do. 32 identities are eight for each address: few enough
that each counts in full; then only the rule of one place for a shared network holds, and owners must be judged by reputation.
"""

if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
