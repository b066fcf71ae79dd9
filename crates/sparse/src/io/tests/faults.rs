//! Readers and writers that fail on the way, at every byte, and readers that hand out little at a time.

use std::io::ErrorKind;

use tamarack_testkit::{FailingReader, FailingWriter, ShortReader};

use super::super::write::to_file;
use super::*;

const MATRIX: &[u8] = b"%%MatrixMarket matrix coordinate real symmetric\n\
    3 3 5\n1 1 4.25\n2 1 -1\n2 2 4\n3 2 -1e-3\n3 3 2.5\n";

const VECTORS: &[u8] = b"%%MatrixMarket matrix array real general\n3 2\n1\n2.5\n-3\n4\n5e-1\n6\n";

const ORDER: &[u8] = b"%%MatrixMarket matrix array integer general\n3 1\n3\n1\n2\n";

/// Texts of the matrix in all formats, compressed and not.
fn matrices() -> Vec<Vec<u8>> {
    let a = read("A", MATRIX).unwrap();
    let text = |format| {
        let mut text = Vec::new();
        write_matrix_to(&mut text, &a, format).unwrap();
        text
    };
    let plain = [MatrixFormat::MatrixMarket, MatrixFormat::RutherfordBoeing].map(text);
    plain.into_iter().flat_map(|t| [gzip(&t), t]).collect()
}

/// Fails unless `read` reports the reader's own error wherever it comes, and not what it makes of half a file.
fn check_reader<T>(text: &[u8], read: impl Fn(FailingReader<&[u8]>) -> Result<T, IoError>) {
    for after in 0..text.len() {
        let reader = FailingReader::new(text, after, ErrorKind::TimedOut);
        match read(reader) {
            Err(IoError::Read { source, .. }) if source.kind() == ErrorKind::TimedOut => {}
            Err(error) => panic!("after {after} of {} bytes: {error}", text.len()),
            Ok(_) => panic!("after {after} of {} bytes: no error", text.len()),
        }
    }
}

#[test]
fn an_error_of_the_reader_is_the_error() {
    for text in matrices() {
        check_reader(&text, |r| read_matrix_from(r, "A", &ReadOptions::default()));
    }
    check_reader(VECTORS, |r| read_vectors_from(r, "x"));
    let padded = [gzip(VECTORS), vec![0; 9]].concat();
    check_reader(&padded, |r| read_vectors_from(r, "x"));
    check_reader(ORDER, |r| read_permutation_from(r, "p", 3));
}

#[test]
fn a_reader_that_hands_out_little_at_a_time_is_read_to_its_end() {
    let a = read("A", MATRIX).unwrap();
    for text in matrices() {
        for most in [1, 2, 7] {
            let reader = ShortReader::new(&text[..], most);
            let b = read_matrix_from(reader, "A", &ReadOptions::default()).unwrap();
            assert_eq!(a, b);
        }
    }
    let x = read_vectors_from(ShortReader::new(VECTORS, 1), "x").unwrap();
    assert_eq!(x, read_vectors_from(VECTORS, "x").unwrap());
}

/// Writes through a writer that fails, at every byte: an error, the file from before, and nothing beside it.
fn check_writer(write: impl Fn(&mut dyn Write) -> std::io::Result<()>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    std::fs::write(&path, "old").unwrap();
    let mut whole = Vec::new();
    write(&mut whole).unwrap();
    for after in 0..whole.len() {
        let failed = to_file(&path, |out| write(&mut FailingWriter::new(out, after)));
        let Err(IoError::Write { source, .. }) = failed else {
            panic!("after {after} of {} bytes: no error", whole.len());
        };
        assert_eq!(source.kind(), ErrorKind::StorageFull);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    to_file(&path, write).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let a = read("A", MATRIX).unwrap();
    for format in [MatrixFormat::MatrixMarket, MatrixFormat::RutherfordBoeing] {
        check_writer(|out| write_matrix_to(out, &a, format));
    }
    let x = read_vectors_from(VECTORS, "x").unwrap();
    check_writer(|out| write_vectors_to(out, &x));
    let order = read_permutation_from(ORDER, "p", 3).unwrap();
    check_writer(|out| write_permutation_to(out, &order));
}
