//! Rules on dependencies: the arrows between our crates, and what the core may stand on.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Broken, documents};
use crate::repo::Source;
use crate::run::{Failure, cargo, output};

/// The layers, lowest first. A crate may depend on any crate of a lower layer, on none of its own.
const LAYERS: [&[&str]; 6] = [
    &["jev-core"],
    &["jev-judge", "jev-session-cdp", "jev-verify"],
    &["jev-agent"],
    &["jev-eval"],
    &["jev-cli"],
    &["xtask"],
];

/// The document whose table lists every arrow.
const PICTURE: &str = "docs/architecture.md";

/// Packages that bring a runtime, a network, a clock or a browser.
const NOT_IN_CORE: [&str; 16] = [
    "tokio",
    "async-std",
    "smol",
    "mio",
    "hyper",
    "reqwest",
    "ureq",
    "axum",
    "rustls",
    "socket2",
    "command-fds",
    "headless_chrome",
    "tempfile",
    "chrono",
    "time",
    "tracing-subscriber",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `null` for a normal dependency.
    kind: Option<String>,
    /// Set for a package of this workspace.
    path: Option<String>,
}

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The arrows are those of the document, and none points up or sideways.
pub(super) fn workspace(sources: &[Source]) -> Result<Vec<Broken>, Failure> {
    let drawn =
        documents::find(sources, PICTURE).map_or_else(Arrows::new, |file| table(&file.text));
    Ok(compare(&arrows()?, &drawn))
}

/// What the manifests say. Dependencies of tests alone are free.
fn arrows() -> Result<Arrows, Failure> {
    let text = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Metadata = serde_json::from_str(&text).map_err(|error| Failure::Unreadable {
        what: format!("cargo metadata: {error}"),
    })?;
    Ok(metadata
        .packages
        .into_iter()
        .map(|package| {
            let ours = package
                .dependencies
                .into_iter()
                .filter(|dependency| dependency.path.is_some())
                .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
                .map(|dependency| dependency.name)
                .collect();
            (package.name, ours)
        })
        .collect())
}

/// Rows of the form `| `crate` | `crate`, `crate` | ...`: the arrows of the first.
fn table(text: &str) -> Arrows {
    let names = |cell: &str| -> Vec<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    text.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|');
            let [package] = names(cells.next()?).try_into().ok()?;
            Some((package, names(cells.next()?).into_iter().collect()))
        })
        .collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn compare(real: &Arrows, drawn: &Arrows) -> Vec<Broken> {
    let mut broken = Vec::new();
    let manifest = |name: &str| match name {
        "xtask" => "xtask/Cargo.toml".to_owned(),
        _ => format!("crates/{name}/Cargo.toml"),
    };
    for (name, targets) in real {
        let Some(own) = layer(name) else {
            broken.push(Broken::new(
                manifest(name),
                format!("`{name}` has no layer; give it one in xtask/src/tidy/edges.rs"),
            ));
            continue;
        };
        for target in targets {
            if layer(target).is_none_or(|other| other >= own) {
                broken.push(Broken::new(
                    manifest(name),
                    format!(
                        "`{name}` must not depend on `{target}`: arrows point to lower layers only"
                    ),
                ));
            }
        }
        match drawn.get(name) {
            None => broken.push(Broken::new(
                PICTURE,
                format!("its table has no row for `{name}`"),
            )),
            Some(row) => {
                for extra in targets.difference(row) {
                    broken.push(Broken::new(
                        PICTURE,
                        format!("`{name}` depends on `{extra}`, and the table does not say so"),
                    ));
                }
                for gone in row.difference(targets) {
                    broken.push(Broken::new(
                        PICTURE,
                        format!("the table says `{name}` depends on `{gone}`, and it does not"),
                    ));
                }
            }
        }
    }
    for name in drawn.keys().filter(|name| !real.contains_key(*name)) {
        broken.push(Broken::new(
            PICTURE,
            format!("`{name}` is no crate of this workspace"),
        ));
    }
    broken
}

/// Nothing below the core knows a runtime, a network or a clock.
pub(super) fn core(_: &[Source]) -> Result<Vec<Broken>, Failure> {
    let tree = output(cargo().args([
        "tree",
        "--package",
        "jev-core",
        "--edges",
        "normal",
        "--all-features",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--locked",
    ]))?;
    Ok(NOT_IN_CORE
        .iter()
        .filter(|banned| {
            tree.lines()
                .any(|line| line.split(' ').next() == Some(**banned))
        })
        .map(|banned| {
            Broken::new(
                "crates/jev-core/Cargo.toml",
                format!("`{banned}` is in jev-core's dependency tree"),
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(&str, &[&str])]) -> Arrows {
        rows.iter()
            .map(|(name, targets)| {
                let targets = targets.iter().map(|&target| target.to_owned()).collect();
                ((*name).to_owned(), targets)
            })
            .collect()
    }

    #[test]
    fn the_table_of_a_document_is_read() {
        let text =
            "# x\n| crate | depends on |\n|---|---|\n| `a` | `b`, `c` | why |\n| `d` | nothing |\n";
        assert_eq!(table(text), of(&[("a", &["b", "c"]), ("d", &[])]));
    }

    #[test]
    fn arrows_up_sideways_or_undrawn_are_named() {
        let right = of(&[("jev-core", &[]), ("jev-judge", &["jev-core"])]);
        assert!(compare(&right, &right).is_empty());
        let cases = [
            (
                of(&[("jev-core", &["jev-judge"])]),
                "must not depend on `jev-judge`",
            ),
            (
                of(&[("jev-judge", &["jev-verify"])]),
                "must not depend on `jev-verify`",
            ),
            (of(&[("jev-judge", &["jev-core"])]), "does not say so"),
            (of(&[("jev-new", &[])]), "has no layer"),
        ];
        let drawn = of(&[("jev-core", &[]), ("jev-judge", &[])]);
        for (real, expected) in cases {
            let broken = compare(&real, &drawn);
            assert!(
                broken.iter().any(|one| one.what.contains(expected)),
                "{expected}: {broken:?}"
            );
        }
        let gone = compare(&of(&[("jev-core", &[])]), &of(&[("jev-core", &["old"])]));
        assert!(gone[0].what.contains("and it does not"), "{gone:?}");
    }
}
