//! Measures the real driver under virtual time and adds a line of JSON to a file.
//!
//! `agentsite-sim-p2p FILE SEED NODES [CONNECTIONS]`; `cargo xtask sim` runs it, once for each size, so that
//! the memory of one run is not counted in the next. With CONNECTIONS only memory is measured, of sites that
//! have at most so many. With `AGENTSITE_SIM_LOG` it logs what the sites log, in the form of `tracing`'s
//! filters.

use std::fs::OpenOptions;
use std::io::Write as _;

use agentsite_sim_p2p::{Figures, LookUps, Setting, Spread, Times, measure, measure_memory, run};
use serde_json::{Value, json};

fn main() {
    if let Ok(filter) = tracing_subscriber::EnvFilter::try_from_env("AGENTSITE_SIM_LOG") {
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|word| word.parse::<u64>().ok());
    let (Some(path), Some(seed), Some(nodes)) = (arguments.first(), number(1), number(2)) else {
        panic!("usage: agentsite-sim-p2p FILE SEED NODES [CONNECTIONS]");
    };
    let mut setting = Setting::of(seed, usize::try_from(nodes).expect("a number of sites"));
    let row = match number(3) {
        None => row(seed, nodes, &run(Box::pin(measure(setting, 5 * nodes as usize)))),
        Some(connections) => {
            setting.limits.connections = u32::try_from(connections).expect("a number of connections");
            let (peers, memory) = run(Box::pin(measure_memory(setting)));
            json!({ "kind": "p2pMemory", "seed": seed, "nodes": nodes, "peers": peers, "memory": memory })
        }
    };
    println!("{row}");
    let file = OpenOptions::new().create(true).append(true).open(path);
    writeln!(file.expect("the file of results can be opened"), "{row}").expect("it can be written");
}

fn times(times: Times) -> Value {
    json!([times.median, times.p99, times.most])
}

fn look_ups(part: &LookUps) -> Value {
    json!({ "count": part.count, "hits": part.hits, "times": times(part.times), "failure": part.failure })
}

fn spread(part: &Spread) -> Value {
    json!({ "most": times(part.most_sites), "all": times(part.all_sites), "missed": part.missed })
}

fn row(seed: u64, nodes: u64, figures: &Figures) -> Value {
    json!({
        "kind": "p2p", "seed": seed, "nodes": nodes, "bootstrap": times(figures.bootstrap),
        "peers": [figures.peers.0, figures.peers.1, figures.peers.2],
        "neighbours": figures.neighbours, "routes": figures.routes, "memory": figures.memory,
        "idle": figures.idle, "idleAll": figures.idle_all, "notFound": figures.not_found,
        "lookUps": look_ups(&figures.look_ups),
        "publish": spread(&figures.publish), "unpublish": spread(&figures.unpublish),
        "amplification": [figures.amplification.0, figures.amplification.1],
        "late": figures.late, "lateLookUps": look_ups(&figures.late_look_ups),
        "holedLookUps": [look_ups(&figures.holed_look_ups.0), look_ups(&figures.holed_look_ups.1)],
        "holedPublish": [spread(&figures.holed_publish.0), spread(&figures.holed_publish.1)],
        "holedNotFound": figures.holed_not_found,
        "virtualSeconds": figures.seconds.0, "seconds": figures.seconds.1,
    })
}
