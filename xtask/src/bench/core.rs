//! `cargo xtask bench core`: what one input costs the navigator on a page of 100 candidates, against
//! its bound. The figures are criterion's; they are reported, and no test depends on them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::failed;
use crate::repo;
use crate::run::{self, Failure};

/// What `handle` and draining may cost, in nanoseconds.
const BOUND_NS: f64 = 5_000.0;

/// `cargo xtask bench core`.
pub(super) fn command() -> Result<(), Failure> {
    let folder = repo::root().join("target/criterion");
    // Figures of benches that are gone are not ours.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
    }
    let mut bench = run::cargo();
    bench.args(["bench", "--package", "jev-core", "--bench", "step"]);
    run::quietly(&mut bench)?;
    let mut figures = Vec::new();
    collect(&folder, &mut figures)?;
    figures.sort_by(|a, b| b.1.total_cmp(&a.1));
    println!("handle and drain, a page of 100 candidates, mean in microseconds (bound 5):");
    for (name, ns) in &figures {
        let verdict = if *ns < BOUND_NS {
            ""
        } else {
            "  over the bound"
        };
        println!("  {:>7.2}  {name}{verdict}", ns / 1_000.0);
    }
    if figures.is_empty() {
        return Err(failed("criterion left no figures"));
    }
    Ok(())
}

/// Every `new/estimates.json` below a folder: the bench's name and its mean.
fn collect(folder: &Path, figures: &mut Vec<(String, f64)>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::file(folder, error))?;
    for entry in entries {
        let path = entry.map_err(|error| Failure::file(folder, error))?.path();
        let estimates: PathBuf = path.join("new/estimates.json");
        if estimates.is_file() {
            let text = fs::read(&estimates).map_err(|error| Failure::file(&estimates, error))?;
            let found: Value = serde_json::from_slice(&text).map_err(failed)?;
            let mean = found["mean"]["point_estimate"].as_f64();
            let name = path.file_name().map(|name| name.to_string_lossy());
            figures.extend(name.map(|name| name.into_owned()).zip(mean));
        } else if path.is_dir() {
            collect(&path, figures)?;
        }
    }
    Ok(())
}
