//! Where the model's files are: which files, where they are looked for, and what proves that they
//! are the right ones.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::error::{FileFault, WeightsError};

/// The model's public name, as outputs show it.
pub const MODEL_NAME: &str = "all-MiniLM-L6-v2";
/// SHA-256 of `model.safetensors`.
pub const MODEL_SHA256: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
/// The variable that names the model's folder. It wins over the user's data folder.
pub const MODEL_DIR_VARIABLE: &str = "JEV_MODEL_DIR";

/// The network's numbers.
pub(super) const MODEL: &str = "model.safetensors";
/// Its sizes.
pub(super) const CONFIG: &str = "config.json";
/// How text becomes word pieces.
pub(super) const TOKENIZER: &str = "tokenizer.json";
/// The word pieces, one a line: for people and other tools; the tokenizer's file holds them too.
pub(super) const VOCABULARY: &str = "vocab.txt";

/// A file of the model and how large it may be, in bytes (the real sizes are 90,868,376, 612,
/// 466,247 and 231,508).
pub(super) const FILES: [(&str, u64); 4] = [
    (MODEL, 96 << 20),
    (CONFIG, 1 << 20),
    (TOKENIZER, 8 << 20),
    (VOCABULARY, 8 << 20),
];

/// A folder that holds the model's four files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    folder: PathBuf,
}

impl Weights {
    /// Finds the installed model: in `JEV_MODEL_DIR` when that is set, else in the user's data
    /// folder. Looks only whether the files are there; reading them comes with the judge.
    ///
    /// # Errors
    /// [`WeightsError::NotInstalled`] names the folders looked in and the command to run.
    pub fn locate() -> Result<Self, WeightsError> {
        Places::from_environment().locate()
    }

    /// Takes a folder as it is.
    ///
    /// # Errors
    /// [`WeightsError::NotInstalled`] when one of the files is not there.
    pub fn at(folder: impl Into<PathBuf>) -> Result<Self, WeightsError> {
        let folder = folder.into();
        if holds_all(&folder) {
            Ok(Self { folder })
        } else {
            Err(WeightsError::NotInstalled {
                looked_in: vec![folder],
            })
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads `model.safetensors` once and compares its SHA-256. Takes about 0.1 s.
    ///
    /// # Errors
    /// [`WeightsError::Wrong`] when it is another file.
    pub fn check_hash(&self) -> Result<(), WeightsError> {
        let path = self.file(MODEL);
        let mut file = File::open(&path).map_err(|error| unreadable(&path, &error))?;
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; 1 << 20];
        loop {
            let read = file
                .read(&mut chunk)
                .map_err(|error| unreadable(&path, &error))?;
            let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            hasher.update(bytes);
        }
        let digest: String = hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if digest == MODEL_SHA256 {
            Ok(())
        } else {
            Err(WeightsError::Wrong {
                path,
                fault: FileFault::Hash,
            })
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads the sizes and compares them with the only ones this code computes with.
    pub(super) fn shape(&self) -> Result<Shape, WeightsError> {
        let path = self.file(CONFIG);
        let text = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
        let shape: Shape = serde_json::from_slice(&text).map_err(|_| WeightsError::Wrong {
            path: path.clone(),
            fault: FileFault::Form,
        })?;
        if shape == Shape::MINI_LM {
            Ok(shape)
        } else {
            Err(WeightsError::Wrong {
                path,
                fault: FileFault::Shape,
            })
        }
    }
}

/// The network's sizes, as `config.json` names them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Shape {
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) vocab_size: usize,
    pub(super) layer_norm_eps: f64,
    pub(super) hidden_act: Activation,
}

/// The one activation this code knows: GELU in its exact form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Activation {
    Gelu,
}

impl Shape {
    /// all-MiniLM-L6-v2.
    pub(super) const MINI_LM: Self = Self {
        hidden_size: 384,
        intermediate_size: 1_536,
        num_attention_heads: 12,
        num_hidden_layers: 6,
        max_position_embeddings: 512,
        vocab_size: 30_522,
        layer_norm_eps: 1e-12,
        hidden_act: Activation::Gelu,
    };
}

/// Where the model may be, read from the environment once.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// `JEV_MODEL_DIR`.
    pub(super) named: Option<PathBuf>,
    /// The user's data folder for all programs.
    pub(super) data: Option<PathBuf>,
}

impl Places {
    pub(super) fn from_environment() -> Self {
        Self::from_lookup(|name| std::env::var_os(name))
    }

    /// The same with any lookup. Empty values count as unset.
    fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = |name: &str| {
            lookup(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let platform = || {
            if cfg!(windows) {
                folder("LOCALAPPDATA")
            } else if cfg!(target_os = "macos") {
                folder("HOME").map(|home| home.join("Library/Application Support"))
            } else {
                folder("HOME").map(|home| home.join(".local/share"))
            }
        };
        Self {
            named: folder(MODEL_DIR_VARIABLE),
            data: folder("XDG_DATA_HOME").or_else(platform),
        }
    }

    /// Where an installation goes, and the only place that is looked in.
    pub(super) fn home(&self) -> Result<PathBuf, WeightsError> {
        match (&self.named, &self.data) {
            (Some(named), _) => Ok(named.clone()),
            (None, Some(data)) => Ok(data.join("jev").join("models").join(MODEL_NAME)),
            (None, None) => Err(WeightsError::NoDataFolder),
        }
    }

    pub(super) fn locate(&self) -> Result<Weights, WeightsError> {
        Weights::at(self.home()?)
    }
}

fn holds_all(folder: &Path) -> bool {
    FILES.iter().all(|(name, _)| folder.join(name).is_file())
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> WeightsError {
    WeightsError::Unreadable {
        path: path.to_owned(),
        error: error.kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pairs: &[(&str, &str)]) -> Places {
        Places::from_lookup(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_named_folder_wins_and_empty_values_count_as_unset() {
        let data = |root: &str| Path::new(root).join("jev/models/all-MiniLM-L6-v2");
        for (pairs, expected) in [
            (
                &[("JEV_MODEL_DIR", "m"), ("XDG_DATA_HOME", "x")][..],
                PathBuf::from("m"),
            ),
            (
                &[("JEV_MODEL_DIR", ""), ("XDG_DATA_HOME", "x")][..],
                data("x"),
            ),
            (&[("XDG_DATA_HOME", "x"), ("HOME", "h")][..], data("x")),
        ] {
            assert_eq!(places(pairs).home().unwrap(), expected, "{pairs:?}");
        }
        assert!(matches!(
            places(&[]).home(),
            Err(WeightsError::NoDataFolder)
        ));
    }

    #[test]
    fn a_missing_file_is_not_installed_and_says_what_to_run() {
        let folder = tempfile::tempdir().unwrap();
        for name in [MODEL, CONFIG, TOKENIZER] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let error = Weights::at(folder.path()).unwrap_err();
        assert!(
            matches!(&error, WeightsError::NotInstalled { looked_in } if looked_in == &[folder.path()])
        );
        assert!(error.to_string().contains("jev judge install"), "{error}");
    }

    #[test]
    fn another_model_is_refused_by_hash_and_by_shape() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            (MODEL, "x"),
            (
                CONFIG,
                r#"{"hidden_size":768,"intermediate_size":3072,"num_attention_heads":12,"num_hidden_layers":12,"max_position_embeddings":512,"vocab_size":30522,"layer_norm_eps":1e-12,"hidden_act":"gelu"}"#,
            ),
            (TOKENIZER, "{}"),
            (VOCABULARY, ""),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let weights = Weights::at(folder.path()).unwrap();
        let fault = |result: Result<(), WeightsError>| {
            let error = result.unwrap_err();
            let WeightsError::Wrong { fault, .. } = error else {
                panic!("{error}");
            };
            fault
        };
        assert_eq!(fault(weights.check_hash()), FileFault::Hash);
        assert_eq!(fault(weights.shape().map(|_| ())), FileFault::Shape);
        std::fs::write(folder.path().join(CONFIG), "[").unwrap();
        assert_eq!(fault(weights.shape().map(|_| ())), FileFault::Form);
    }
}
