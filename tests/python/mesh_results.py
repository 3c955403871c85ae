"""Writes docs/mesh-results.md and its plots from the figures of the simulations.

usage: mesh_results.py FIGURES DOCS

FIGURES is the folder with what the example `mesh_results` of the simulator and `sim-p2p` wrote, one file for each part and one line of JSON
for each row. Used by `cargo xtask sim`.
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
    files = sorted(figures.glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in open(file, encoding="utf-8")]
    folder = docs / "mesh-results"
    folder.mkdir(exist_ok=True)
    kinds = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row)
    plot_widths(kinds.get("width", []), folder / "cells-asked.png")
    plot_spread(kinds.get("spread", []), folder / "spread.png")
    plot_sizes(kinds.get("size", []), folder / "sizes.png")
    plot_driver(kinds.get("p2p", []), folder / "driver.png")
    text = page(kinds) + large_sync(kinds.get("largeSync", []))
    (docs / "mesh-results.md").write_text(text, encoding="utf-8")


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
        if rows else 0:,} descriptions are real; they are repeated with a number at the end. Vectors (one of the agent, one of its skill) are random numbers, which take the same bytes. Seconds are those of a processor in the dev profile. Only the new catalogue begins a session.

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


def plot_driver(rows, path):
    drawn, axes = figure()
    nodes = [row["nodes"] for row in rows]
    for label, style, key in (("look-up, p99", "-o", lambda row: row["lookUps"]["times"][1]),
                              ("publish at 99 % of sites", "-s", lambda row: row["publish"]["most"][2]),
                              ("unpublish at 99 % of sites", "-^", lambda row: row["unpublish"]["most"][2]),
                              ("publish, 30 % black holes", "--s", lambda row: row["holedPublish"][1]["most"][2])):
        axes.plot(nodes, [key(row) for row in rows], style, ms=3, lw=1, label=label)
    axes.axhline(1_000, color="grey", lw=0.8)
    axes.axhline(1_500, color="grey", lw=0.8, ls="--")
    axes.set_ylim(0, None)
    axes.set_xlabel("sites")
    axes.set_ylabel("ms of virtual time")
    axes.legend(fontsize=6)
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
    parts = [INTRODUCTION, "## Aims\n", AIMS, aims(kinds), "## The real driver\n", DRIVER, driver(kinds.get("p2p", [])),
             "![Times of the real driver](mesh-results/driver.png)\n",
             "## Spreading\n", spread(kinds.get("spread", [])),
             "![Time until all sites know](mesh-results/spread.png)\n",
             "## The catalogue\n", CATALOGUE,
             table(["sites", "publishing", "publish reaches 99 %", "unpublish reaches 99 %", "publish, 30 % black holes",
                    "payloads per receiver", "idle bytes/s per site", "late joiner complete", "10 min partition heals", "steps", "wall s"],
                   [[number(row["nodes"]), row["publishers"], *(time(row[key]) for key in ("publish", "unpublish", "holedPublish")),
                     f"{row['amplification']:.1f}", number(row["idle"]), time(row["late"]), time(row["heal"]), number(row["steps"]),
                     number(row["seconds"])] for row in kinds.get("catalogue", [])]),
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


def time(millis):
    return "never" if millis is None else f"{number(millis)} ms"


def hit_rate(part):
    return part["hits"] / max(part["count"], 1)


def percent(value):
    return f"{100 * value:.2f} %"


def aims(kinds):
    """One row for each aim: what was measured, and whether that meets it."""
    rows = []

    def aim(text, measured, is_met):
        rows.append([text, measured, "yes" if is_met else "**no**"])

    driver = kinds.get("p2p", [])
    if driver:
        largest = driver[-1]
        at = f"at {largest['nodes']} sites"
        found, times = largest["lookUps"], largest["lookUps"]["times"]
        aim("look-ups of sites hit: 99.9 % at 200 sites", f"{percent(hit_rate(found))} of {number(found['count'])} {at}",
            hit_rate(found) >= 0.999 and largest["nodes"] >= 200)
        aim("look-ups, p99: 1.5 s", f"{number(times[1])} ms {at}", times[1] < 1_500)
        pairs = largest["nodes"] * (largest["nodes"] - 1)
        aim("every published agent is found at every site", f"{number(pairs - largest['notFound'])} of {number(pairs)} pairs {at}",
            largest["notFound"] == 0)
        first, later = largest["holedLookUps"]
        aim("look-ups hit with 30 % of the sites black-holed: 99 %",
            f"{percent(hit_rate(first))} at once (p99 {number(first['times'][1])} ms), {percent(hit_rate(later))} after 90 s "
            f"(p99 {number(later['times'][1])} ms) {at}", min(hit_rate(first), hit_rate(later)) >= 0.99)
        sizes = "at " + ", ".join(sorted({number(row["nodes"]) for row in driver})) + " sites"
        for key, name in (("publish", "a publish"), ("unpublish", "an unpublish")):
            worst = max(row[key]["most"][2] for row in driver)
            aim(f"{name} is visible on 99 % of the sites: 1 s", f"at most {number(worst)} ms, real driver {sizes}", worst < 1_000)
        worst = max(part["most"][2] for row in driver for part in row["holedPublish"])
        aim("the same with 30 % black-holed", f"at most {number(worst)} ms", worst < 1_000)
        late = [row["late"] for row in driver]
        aim("a late joiner is complete within seconds, without waiting for a second round", "it finds every agent "
            + " / ".join(time(value) for value in late) + " after its start; rounds are 30 s apart", all(value and value < 5_000 for value in late))
        worst = max(row["amplification"][1] for row in driver)
        aim("gossip bytes per receiver after batching: 4 × payload",
            f"{worst:.1f} × for 32 agents, {max(row['amplification'][0] for row in driver):.1f} × for one", worst <= 4)
        idle = [row["idle"] for row in driver]
        aim("idle traffic is flat in the number of sites",
            " / ".join(f"{number(value)}" for value in idle) + " bytes/s per site at "
            + " / ".join(str(row["nodes"]) for row in driver) + " sites, 20 of them publishing", len({row["nodes"] for row in driver}) > 1 and max(idle) < 2 * min(idle))
    for row in kinds.get("p2pMemory", []):
        aim("8 MB per site at 50 connections", f"{row['memory'] / 1e6:.1f} MB at {row['peers']:.0f} connections", row["memory"] <= 8e6)
    for row in kinds.get("catalogue", [])[-1:]:
        aim(f"the catalogue at {number(row['nodes'])} sites: publish and unpublish on 99 % in 1 s",
            f"{time(row['publish'])}, {time(row['unpublish'])}",
            max(row["publish"] or 10**6, row["unpublish"] or 10**6) < 1_000)
    one_cell = [row for row in kinds.get("size", []) if row["agents"] == 10_000 and row["effort"] == 8]
    for row in one_cell:
        aim("one cell: recall 1.0", f"{share(row['recall'])} of 10,000 agents", row["recall"] >= 0.9995)
    eight = [row for row in kinds.get("size", []) + kinds.get("width", []) if row["effort"] == 8 and row["agents"] > 10_000]
    if eight:
        aim("cells: score ratio 0.95 with eight cells asked", f"{share(min(row['scoreRatio'] for row in eight))} at least",
            min(row["scoreRatio"] for row in eight) >= 0.95)
        ratio = min(row["rightSkill"] / row["rightSkillExact"] for row in eight)
        worst = min(row["rightSkill"] for row in eight)
        aim("cells: right skill 0.95 with eight cells asked",
            f"{share(worst)} at least, which is {share(ratio)} of what an exact search finds with the same vectors", worst >= 0.95)
    sybils = [row for row in kinds.get("sybil", []) if row["sybils"] == 1_000]
    for row in sybils:
        aim("honest share of the top ten under 1,000 Sybils: 90 %", percent(row["honest"]), row["honest"] >= 0.9)
    lost = [row["lost"] for row in kinds.get("partition", [])]
    if lost:
        aim("a partition of 30 minutes loses nothing", f"{sum(lost)} updates lost in {len(lost)} runs", sum(lost) == 0)
    return table(["aim", "measured", "met"], rows)


def driver(rows):
    def look_ups(part):
        return f"{percent(hit_rate(part))}, {number(part['times'][0])} / {number(part['times'][1])} ms"

    def change(part):
        missed = f", {part['missed']} missed" if part["missed"] else ""
        return f"{number(part['most'][2])} / {number(part['all'][2])} ms{missed}"

    lines = [
        ("first session complete, median / p99", lambda row: f"{number(row['bootstrap'][0])} / {number(row['bootstrap'][1])} ms"),
        ("connected sites, fewest / mean / most", lambda row: f"{row['peers'][0]} / {row['peers'][1]:.0f} / {row['peers'][2]}"),
        ("neighbours in gossip, routes; mean", lambda row: f"{row['neighbours']:.1f}, {row['routes']:.0f}"),
        ("memory per site", lambda row: f"{row['memory'] / 1e6:.1f} MB"),
        ("idle bytes/s sent per site, 20 publishing", lambda row: number(row["idle"])),
        ("idle bytes/s sent per site, all publishing", lambda row: number(row["idleAll"])),
        ("pairs of site and agent without a find", lambda row: number(row["notFound"])),
        ("look-ups of sites: hits, median / p99", lambda row: look_ups(row["lookUps"])),
        ("publish at 99 % / all sites, slowest of 10", lambda row: change(row["publish"])),
        ("unpublish at 99 % / all sites, slowest of 10", lambda row: change(row["unpublish"])),
        ("bytes per receiver and byte of record: one agent, 32 at once",
         lambda row: f"{row['amplification'][0]:.1f}, {row['amplification'][1]:.1f}"),
        ("late joiner finds every agent after", lambda row: time(row["late"])),
        ("look-ups by the late joiner", lambda row: look_ups(row["lateLookUps"])),
        ("30 % black holes, at once: look-ups", lambda row: look_ups(row["holedLookUps"][0])),
        ("30 % black holes, at once: publish", lambda row: change(row["holedPublish"][0])),
        ("30 % black holes, after 90 s: look-ups", lambda row: look_ups(row["holedLookUps"][1])),
        ("30 % black holes, after 90 s: publish", lambda row: change(row["holedPublish"][1])),
        ("30 % black holes: pairs without a find", lambda row: number(row["holedNotFound"])),
        ("virtual seconds, wall seconds", lambda row: f"{number(row['virtualSeconds'])}, {number(row['seconds'])}"),
    ]
    return table(["", *(f"{row['nodes']} sites, seed {row['seed']}" for row in rows)],
                 [[name, *(show(row) for row in rows)] for name, show in lines])


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


AIMS = """The aims are those that the mesh was designed for; "no" is a debt.
"""

DRIVER = """The product's overlay and catalogue over libp2p, with the clock of tokio in place of the system's and a network in memory in place of TCP (`sim-p2p`). Every pair of sites has its own latency; sites have addresses of the open internet in subnets of
their own and the settings of a site without a configuration. They know three seeds. A **black hole** takes bytes and gives none: no connection is closed. A **look-up** opens a stream to a random site that is not connected: finding
its address, the connection and the handshakes are in its time. Bytes are those on the wire, encryption included. The seed determines keys, latencies and the choices of the scenario, not those inside of libp2p.
"""

CATALOGUE = """The pure catalogue with a simple overlay that pushes to five random neighbours, one seed for each row. Its latencies and shares are those of the machine that decides; what gossipsub costs is in the table of the real driver.
"""

INTRODUCTION = """# Results of the mesh simulations

Written by `cargo xtask sim`; do not edit. Tables without rows are of parts that were not run yet. [mesh.md](mesh.md) explains the terms. Times are virtual, on links of 10 to 100 ms in each direction;
wall seconds and memory are those of one process of the release profile on a shared machine.

In the parts about cells, links lose one message in a hundred, and agents are made up: each has one or two of 320 skills, whose vectors are those of real sentences by the model of the protocol, with noise of 0.35; questions are
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
