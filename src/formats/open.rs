//! Opens files, folders and several files at once, and whole files in memory.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

use arenascope_planner::control::Control;
use arenascope_planner::workload::Workload;

use crate::detect::{Origin, ReadOptions, has_known_name, plain_reason, read_source, text};
use crate::error::FormatError;
use crate::{typed_in, xla};

/// Reads a file, with those of `options.beside` if there are any, or a folder with an XLA dump or one model. Of a model
/// only what is needed is read, so that its size hardly matters.
///
/// # Errors
/// Only if the file cannot be read at all; see [`FormatError`].
pub fn read(path: &Path, options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    if !options.beside.is_empty() {
        let paths: Vec<PathBuf> = std::iter::once(path.to_owned()).chain(options.beside.iter().cloned()).collect();
        return read_all(&paths, options, control);
    }
    let shown = path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| unopenable(path, &error))?;
    if metadata.is_dir() {
        return read_folder(path, options, control);
    }
    let (origin, source) = open(path)?;
    let beside = || {
        let other = xla::sibling(path)?;
        let (origin, source) = open(&other).ok()?;
        text(&origin, source, control).ok()
    };
    let workload = read_source(&origin, source, options, control, &beside)?;
    typed_in::with_sizes(workload, &shown, &options.bytes)
}

/// Reads several files that belong together: the texts of one XLA module, or a model and files of its weights, which
/// are not needed. One path is as [`read`].
///
/// # Errors
/// As [`read`], and if the files do not belong together.
pub fn read_all(paths: &[PathBuf], options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    let options = &ReadOptions { beside: Vec::new(), ..options.clone() };
    if let [only] = paths {
        return read(only, options, control);
    }
    for path in paths {
        std::fs::metadata(path).map_err(|error| unopenable(path, &error))?;
    }
    let names: Vec<(String, u64)> = paths.iter().map(|path| (path.display().to_string(), 0)).collect();
    match xla::pick(&names) {
        Some((main, Some(other))) if paths.len() == 2 => read_pair(&paths[main], &paths[other], control),
        _ => {
            let known: Vec<&PathBuf> = paths.iter().filter(|path| has_known_name(&path.to_string_lossy())).collect();
            match known.as_slice() {
                [model] => read(model, options, control),
                known => Err(FormatError::Apart {
                    path: paths.first().map_or_else(String::new, |path| path.display().to_string()),
                    n_files: paths.len(),
                    n_models: known.len(),
                }),
            }
        }
    }
}

/// Reads a file that is in memory; `name` stands for its path.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Workload, FormatError> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned();
    let origin = Origin { path: name.to_owned(), file, bytes: bytes.len() as u64 };
    let workload = read_source(&origin, BufReader::new(Cursor::new(bytes)), options, &Control::unattended(), &|| None)?;
    typed_in::with_sizes(workload, name, &options.bytes)
}

fn unopenable(path: &Path, error: &std::io::Error) -> FormatError {
    FormatError::Unopenable { path: path.display().to_string(), reason: plain_reason(error) }
}

fn open(path: &Path) -> Result<(Origin, BufReader<File>), FormatError> {
    let shown = path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| unopenable(path, &error))?;
    if !metadata.is_file() {
        return Err(FormatError::Unopenable { path: shown, reason: "it is not a regular file".to_owned() });
    }
    let file = File::open(path).map_err(|error| unopenable(path, &error))?;
    let name = path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    Ok((Origin { path: shown, file: name, bytes: metadata.len() }, BufReader::with_capacity(1 << 16, file)))
}

fn read_folder(path: &Path, options: &ReadOptions, control: &Control<'_>) -> Result<Workload, FormatError> {
    let entries = std::fs::read_dir(path).map_err(|error| unopenable(path, &error))?;
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_str()?.to_owned(), entry.metadata().ok().filter(std::fs::Metadata::is_file)?.len()))
    };
    let mut names: Vec<(String, u64)> = entries.take(xla::MAX_FOLDER_FILES).filter_map(file).collect();
    names.sort();
    let Some((main, other)) = xla::pick(&names) else {
        let known: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).filter(|name| has_known_name(name)).collect();
        return match known.as_slice() {
            [only] => read(&path.join(only), options, control),
            known => Err(FormatError::Folder { path: path.display().to_string(), n_known: known.len() }),
        };
    };
    match other {
        Some(other) => read_pair(&path.join(&names[main].0), &path.join(&names[other].0), control),
        None => read(&path.join(&names[main].0), options, control),
    }
}

fn read_pair(main: &Path, other: &Path, control: &Control<'_>) -> Result<Workload, FormatError> {
    let read_text = |path: &Path| {
        let (origin, source) = open(path)?;
        text(&origin, source, control).map(|text| (origin, text))
    };
    let ((origin, main), (_, other)) = (read_text(main)?, read_text(other)?);
    xla::read(&origin, &[&main, &other])
}
