//! Writes a file as a whole or not at all, so that a stopped program never leaves half a plan behind.

use std::io::Write as _;
use std::path::Path;

use crate::error::FormatError;

/// Writes `bytes` to a new file beside `path` and renames it over `path`.
///
/// # Errors
/// [`FormatError::Unwritable`]; the old file, if any, is then untouched.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FormatError> {
    let unwritable = |reason: String| FormatError::Unwritable { path: path.display().to_string(), reason };
    if path.is_dir() {
        return Err(unwritable("it is a folder".to_owned()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".arenascope-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(|error| unwritable(error.to_string()))?;
    file.write_all(bytes).and_then(|()| file.flush()).map_err(|error| unwritable(error.to_string()))?;
    file.persist(path).map_err(|error| unwritable(error.error.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_file_and_leaves_nothing_else_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("plan.json");
        write_atomically(&path, b"one").expect("the folder exists");
        write_atomically(&path, b"two").expect("the folder exists");
        assert_eq!(std::fs::read(&path).expect("the file exists"), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder exists").count(), 1);
    }

    #[test]
    fn says_why_a_file_cannot_be_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = write_atomically(&folder.path().join("absent").join("plan.json"), b"").expect_err("no such folder");
        assert!(error.to_string().contains("absent"), "{error}");
        assert!(write_atomically(folder.path(), b"").is_err());
    }
}
