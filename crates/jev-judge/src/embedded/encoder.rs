//! The sentence encoder: a six-layer BERT forward on candle tensors, over packed sequences, so
//! that no time goes into padding.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::{D, DType, Device, Tensor};
use safetensors::tensor::Metadata;
use tokenizers::{Tokenizer, TruncationParams};

use super::error::{EmbedError, FileFault, WeightsError};
use super::weights::{MODEL, Shape, TOKENIZER, Weights, unreadable};

/// Length of a sentence's vector.
pub const DIMENSIONS: usize = 384;

/// Word pieces of one text that are read, the two markers included; the rest is cut. Labels are
/// far shorter; a passage's first sentences carry its topic.
pub const MAX_PIECES: usize = 64;

/// The longest JSON header of a safetensors file that is read, in bytes (the real one: about 11,000).
const MAX_HEADER: u64 = 1 << 20;

/// A text as word pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    ids: Vec<u32>,
}

impl Pieces {
    /// How many, the two markers included.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// The network and its vocabulary. Immutable: any number of threads may use it at once.
pub(super) struct Encoder {
    tokenizer: Tokenizer,
    words: Tensor,
    positions: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    shape: Shape,
}

struct Layer {
    qkv: Linear,
    out: Linear,
    out_norm: Norm,
    up: Linear,
    down: Linear,
    down_norm: Norm,
}

struct Linear {
    /// Already transposed: inputs by outputs.
    weight: Tensor,
    bias: Tensor,
}

struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f64,
}

/// Texts of one length, next to each other in the packed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    start: usize,
    texts: usize,
    len: usize,
}

impl Encoder {
    /// Reads the model: about 0.1 s, 92 MB of memory for good and 47 MB more for a moment.
    pub(super) fn load(weights: &Weights) -> Result<Self, EmbedError> {
        let shape = weights.shape()?;
        let path = weights.file(MODEL);
        let mut file = TensorFile::open(&path)?;
        let hidden = shape.hidden_size;
        let wide = shape.intermediate_size;
        let epsilon = shape.layer_norm_eps;
        let words = file.read(
            "embeddings.word_embeddings.weight",
            &[shape.vocab_size, hidden],
        )?;
        let positions = file.read(
            "embeddings.position_embeddings.weight",
            &[shape.max_position_embeddings, hidden],
        )?;
        let kinds = file.read("embeddings.token_type_embeddings.weight", &[2, hidden])?;
        // Every text is of kind 0, and nothing is read beyond the cut: one small table does.
        let positions = positions
            .narrow(0, 0, MAX_PIECES)?
            .broadcast_add(&kinds.narrow(0, 0, 1)?)?;
        let norm = file.norm("embeddings.LayerNorm", hidden, epsilon)?;
        let mut layers = Vec::with_capacity(shape.num_hidden_layers);
        for index in 0..shape.num_hidden_layers {
            let name = |part: &str| format!("encoder.layer.{index}.{part}");
            // The scaling of the attention's scores is put into the queries once.
            let scale = ((hidden / shape.num_attention_heads) as f64).powf(-0.5);
            let (query, query_bias) = file.raw(&name("attention.self.query"), hidden, hidden)?;
            let (key, key_bias) = file.raw(&name("attention.self.key"), hidden, hidden)?;
            let (value, value_bias) = file.raw(&name("attention.self.value"), hidden, hidden)?;
            let qkv = Linear::new(
                &Tensor::cat(&[&(query * scale)?, &key, &value], 0)?,
                Tensor::cat(&[&(query_bias * scale)?, &key_bias, &value_bias], 0)?,
            )?;
            layers.push(Layer {
                qkv,
                out: file.linear(&name("attention.output.dense"), hidden, hidden)?,
                out_norm: file.norm(&name("attention.output.LayerNorm"), hidden, epsilon)?,
                up: file.linear(&name("intermediate.dense"), hidden, wide)?,
                down: file.linear(&name("output.dense"), wide, hidden)?,
                down_norm: file.norm(&name("output.LayerNorm"), hidden, epsilon)?,
            });
        }
        Ok(Self {
            tokenizer: tokenizer(weights)?,
            words,
            positions,
            norm,
            layers,
            shape,
        })
    }

    /// Splits a text into word pieces, at most [`MAX_PIECES`] of them.
    pub(super) fn pieces(&self, text: &str) -> Result<Pieces, EmbedError> {
        let encoding = self
            .tokenizer
            .encode_fast(text, true)
            .map_err(|_| EmbedError::Pieces)?;
        let ids = encoding.get_ids().to_vec();
        // An id outside the table would be an error in the middle of a batch; it can't come from
        // the right vocabulary, and a wrong one must not go unnoticed.
        if ids.is_empty()
            || ids.len() > MAX_PIECES
            || ids.iter().any(|id| *id as usize >= self.shape.vocab_size)
        {
            return Err(EmbedError::Pieces);
        }
        Ok(Pieces { ids })
    }

    /// One unit vector a text. The texts must stand in order of length.
    pub(super) fn forward(&self, texts: &[&Pieces]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let groups = groups(texts);
        let rows: usize = texts.iter().map(|text| text.len()).sum();
        let mut ids = Vec::with_capacity(rows);
        let mut places = Vec::with_capacity(rows);
        for text in texts {
            ids.extend_from_slice(&text.ids);
            places.extend(0..text.ids.len() as u32);
        }
        let ids = Tensor::from_vec(ids, rows, &Device::Cpu)?;
        let places = Tensor::from_vec(places, rows, &Device::Cpu)?;
        let embedded = (self.words.embedding(&ids)? + self.positions.embedding(&places)?)?;
        let mut hidden = self.norm.apply(&embedded)?;
        for layer in &self.layers {
            hidden = self.layer(layer, &hidden, &groups)?;
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for group in &groups {
            let mean = hidden
                .narrow(0, group.start, group.texts * group.len)?
                .reshape((group.texts, group.len, self.shape.hidden_size))?
                .mean(1)?;
            let length = mean.sqr()?.sum_keepdim(1)?.sqrt()?;
            vectors.extend(mean.broadcast_div(&length)?.to_vec2::<f32>()?);
        }
        Ok(vectors)
    }

    fn layer(&self, layer: &Layer, input: &Tensor, groups: &[Group]) -> Result<Tensor, EmbedError> {
        let heads = self.shape.num_attention_heads;
        let width = self.shape.hidden_size / heads;
        let qkv = layer.qkv.apply(input)?;
        let mut mixed = Vec::with_capacity(groups.len());
        for group in groups {
            // texts, 3 x heads, len, width
            let parts = qkv
                .narrow(0, group.start, group.texts * group.len)?
                .reshape((group.texts, group.len, 3 * heads, width))?
                .transpose(1, 2)?
                .contiguous()?;
            let query = parts.narrow(1, 0, heads)?.contiguous()?;
            let key = parts.narrow(1, heads, heads)?.contiguous()?;
            let value = parts.narrow(1, 2 * heads, heads)?.contiguous()?;
            let scores = query.matmul(&key.transpose(2, 3)?)?;
            let scores = scores
                .broadcast_sub(&scores.max_keepdim(D::Minus1)?)?
                .exp()?;
            let weights = scores.broadcast_div(&scores.sum_keepdim(D::Minus1)?)?;
            mixed.push(
                weights
                    .matmul(&value)?
                    .transpose(1, 2)?
                    .reshape((group.texts * group.len, self.shape.hidden_size))?,
            );
        }
        let mixed = Tensor::cat(&mixed, 0)?;
        let attended = layer.out_norm.apply(&(layer.out.apply(&mixed)? + input)?)?;
        let wide = layer.up.apply(&attended)?.gelu_erf()?;
        layer
            .down_norm
            .apply(&(layer.down.apply(&wide)? + attended)?)
    }
}

impl Linear {
    fn new(weight: &Tensor, bias: Tensor) -> Result<Self, EmbedError> {
        Ok(Self {
            weight: weight.t()?.contiguous()?,
            bias,
        })
    }

    fn apply(&self, input: &Tensor) -> Result<Tensor, EmbedError> {
        Ok(input.matmul(&self.weight)?.broadcast_add(&self.bias)?)
    }
}

impl Norm {
    fn apply(&self, input: &Tensor) -> Result<Tensor, EmbedError> {
        let centred = input.broadcast_sub(&input.mean_keepdim(1)?)?;
        let spread = (centred.sqr()?.mean_keepdim(1)? + self.epsilon)?.sqrt()?;
        Ok(centred
            .broadcast_div(&spread)?
            .broadcast_mul(&self.weight)?
            .broadcast_add(&self.bias)?)
    }
}

/// Runs of equal length.
fn groups(texts: &[&Pieces]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut row = 0;
    for text in texts {
        match groups.last_mut() {
            Some(group) if group.len == text.len() => group.texts += 1,
            Some(_) | None => groups.push(Group {
                start: row,
                texts: 1,
                len: text.len(),
            }),
        }
        row += text.len();
    }
    groups
}

fn tokenizer(weights: &Weights) -> Result<Tokenizer, WeightsError> {
    let path = weights.file(TOKENIZER);
    let text = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
    let wrong = |fault| WeightsError::Wrong {
        path: path.clone(),
        fault,
    };
    let mut tokenizer = Tokenizer::from_bytes(text).map_err(|_| wrong(FileFault::Form))?;
    // The file pads every text to 128 pieces.
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(Some(TruncationParams {
            max_length: MAX_PIECES,
            ..TruncationParams::default()
        }))
        .map_err(|_| wrong(FileFault::Form))?;
    Ok(tokenizer)
}

/// A safetensors file, read one tensor at a time so that it never stands in memory twice.
struct TensorFile<'a> {
    path: &'a Path,
    file: File,
    header: Metadata,
    data: u64,
}

impl<'a> TensorFile<'a> {
    fn open(path: &'a Path) -> Result<Self, WeightsError> {
        let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let wrong = |fault| WeightsError::Wrong {
            path: path.to_owned(),
            fault,
        };
        let mut length = [0; 8];
        file.read_exact(&mut length)
            .map_err(|_| wrong(FileFault::Form))?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(wrong(FileFault::Form));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header)
            .map_err(|_| wrong(FileFault::Form))?;
        let header = serde_json::from_slice(&header).map_err(|_| wrong(FileFault::Form))?;
        Ok(Self {
            path,
            file,
            header,
            data: 8 + length,
        })
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, EmbedError> {
        let wrong = || WeightsError::Wrong {
            path: self.path.to_owned(),
            fault: FileFault::Shape,
        };
        let info = self.header.info(name).ok_or_else(wrong)?;
        if info.shape != shape || info.dtype != safetensors::Dtype::F32 {
            return Err(wrong().into());
        }
        let (start, end) = info.data_offsets;
        let mut bytes = vec![0; end - start];
        self.file
            .seek(SeekFrom::Start(self.data + start as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| unreadable(self.path, &error))?;
        Ok(Tensor::from_raw_buffer(
            &bytes,
            DType::F32,
            shape,
            &Device::Cpu,
        )?)
    }

    fn raw(&mut self, name: &str, from: usize, to: usize) -> Result<(Tensor, Tensor), EmbedError> {
        Ok((
            self.read(&format!("{name}.weight"), &[to, from])?,
            self.read(&format!("{name}.bias"), &[to])?,
        ))
    }

    fn linear(&mut self, name: &str, from: usize, to: usize) -> Result<Linear, EmbedError> {
        let (weight, bias) = self.raw(name, from, to)?;
        Linear::new(&weight, bias)
    }

    fn norm(&mut self, name: &str, size: usize, epsilon: f64) -> Result<Norm, EmbedError> {
        Ok(Norm {
            weight: self.read(&format!("{name}.weight"), &[size])?,
            bias: self.read(&format!("{name}.bias"), &[size])?,
            epsilon,
        })
    }
}
