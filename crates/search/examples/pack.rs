//! Packs the weights of all-MiniLM-L6-v2 for the encoder: `pack MODEL_FOLDER OUT_FOLDER`, run by `cargo xtask
//! model`.
//!
//! Promises: reads `model.safetensors` and `vocab.txt` and writes the same bytes each time, on every machine,
//! in the layout that `src/minilm/weights.rs` describes. Each row of a table and each 128 numbers of a
//! matrix's row become signed bytes with one factor (the largest magnitude / 127), rounded to the nearest. It
//! does not fetch anything.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

const TILE: usize = 16;
const GROUP: usize = 128;
const POSITIONS: usize = 256;
const WIDTH: usize = 384;

fn main() -> Result<(), Box<dyn Error>> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [from, to] = folders.as_slice() else {
        return Err("usage: pack MODEL_FOLDER OUT_FOLDER".into());
    };
    let file = fs::read(from.join("model.safetensors"))?;
    let body = body(&Tensors::read(&file)?)?;
    let mut out = b"AGSMLM01".to_vec();
    for number in [30_522_u32, 256, 384, 6, 12, 1536] {
        out.extend(number.to_le_bytes());
    }
    out.extend(&Sha256::digest(&body)[..]);
    out.extend(body);
    fs::write(to.join("all-minilm-l6-v2.int8"), out)?;
    fs::copy(from.join("vocab.txt"), to.join("vocab.txt"))?;
    Ok(())
}

fn body(tensors: &Tensors<'_>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut out = Vec::new();
    rows(&tensors.get("embeddings.word_embeddings.weight")?, WIDTH, &mut out);
    let mut positions = tensors.get("embeddings.position_embeddings.weight")?;
    positions.truncate(POSITIONS * WIDTH);
    let kind = tensors.get("embeddings.token_type_embeddings.weight")?;
    for position in positions.chunks_exact_mut(WIDTH) {
        position.iter_mut().zip(&kind).for_each(|(value, kind)| *value += kind);
    }
    rows(&positions, WIDTH, &mut out);
    norm(tensors, "embeddings", &mut out)?;
    for layer in 0..6 {
        let at = |name: &str| format!("encoder.layer.{layer}.{name}");
        let [query, key, value] = ["query", "key", "value"].map(|part| at(&format!("attention.self.{part}")));
        linear(tensors, &[query, key, value], WIDTH, &mut out)?;
        linear(tensors, &[at("attention.output.dense")], WIDTH, &mut out)?;
        norm(tensors, &at("attention.output"), &mut out)?;
        linear(tensors, &[at("intermediate.dense")], WIDTH, &mut out)?;
        linear(tensors, &[at("output.dense")], 4 * WIDTH, &mut out)?;
        norm(tensors, &at("output"), &mut out)?;
    }
    Ok(out)
}

/// Rows as bytes, then their factors.
fn rows(values: &[f32], width: usize, out: &mut Vec<u8>) {
    let (bytes, factors) = quantised(values, width);
    out.extend(bytes.iter().map(|byte| byte.cast_unsigned()));
    floats(&factors, out);
}

/// The matrices of the named parts as one, then factors and biases.
fn linear(
    tensors: &Tensors<'_>,
    parts: &[String],
    inputs: usize,
    out: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let (mut weights, mut biases) = (Vec::new(), Vec::new());
    for part in parts {
        weights.extend(tensors.get(&format!("{part}.weight"))?);
        biases.extend(tensors.get(&format!("{part}.bias"))?);
    }
    let (bytes, factors) = quantised(&weights, GROUP);
    for tile in bytes.chunks_exact(TILE * inputs) {
        for input in (0..inputs).step_by(2) {
            for row in tile.chunks_exact(inputs) {
                out.extend([row[input].cast_unsigned(), row[input + 1].cast_unsigned()]);
            }
        }
    }
    let groups = inputs / GROUP;
    for tile in factors.chunks_exact(TILE * groups) {
        for group in 0..groups {
            tile.chunks_exact(groups).for_each(|row| out.extend(row[group].to_le_bytes()));
        }
    }
    floats(&biases, out);
    Ok(())
}

fn norm(tensors: &Tensors<'_>, of: &str, out: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
    floats(&tensors.get(&format!("{of}.LayerNorm.weight"))?, out);
    floats(&tensors.get(&format!("{of}.LayerNorm.bias"))?, out);
    Ok(())
}

fn quantised(values: &[f32], width: usize) -> (Vec<i8>, Vec<f32>) {
    let (mut bytes, mut factors) = (Vec::new(), Vec::new());
    for row in values.chunks_exact(width) {
        let peak = row.iter().fold(f32::MIN_POSITIVE, |peak, value| peak.max(value.abs()));
        let factor = peak / 127.0;
        bytes.extend(row.iter().map(|value| (value / factor).round() as i8));
        factors.push(factor);
    }
    (bytes, factors)
}

fn floats(values: &[f32], out: &mut Vec<u8>) {
    values.iter().for_each(|value| out.extend(value.to_le_bytes()));
}

/// A file of named tensors: the length of a JSON header, the header, the numbers.
struct Tensors<'a> {
    places: BTreeMap<String, (usize, usize)>,
    data: &'a [u8],
}

impl<'a> Tensors<'a> {
    fn read(file: &'a [u8]) -> Result<Self, Box<dyn Error>> {
        let (length, rest) = file.split_first_chunk::<8>().ok_or("the file is cut")?;
        let (header, data) =
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length))?).ok_or("the file is cut")?;
        let header: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header)?;
        let place = |(name, about): (String, serde_json::Value)| {
            let offsets: (usize, usize) = serde_json::from_value(about["data_offsets"].clone()).ok()?;
            (about["dtype"] == "F32").then_some((name, offsets))
        };
        Ok(Self { places: header.into_iter().filter_map(place).collect(), data })
    }

    fn get(&self, name: &str) -> Result<Vec<f32>, Box<dyn Error>> {
        let (from, to) = self.places.get(name).ok_or_else(|| format!("there is no tensor {name}"))?;
        let bytes = self.data.get(*from..*to).ok_or("the file is cut")?.chunks_exact(4);
        Ok(bytes.map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
    }
}
