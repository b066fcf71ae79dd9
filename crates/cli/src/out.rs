//! Standard output: the result and nothing else. Standard error: all else that is said.

use std::io::{self, Write};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::failure::Failure;

/// Whether an output file is standard output.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Leaves standard output to a file of that name: what people read goes to standard error.
pub fn leave_to_file() {
    TAKEN.store(true, Ordering::Relaxed);
}

/// Writes text for people, to standard output unless a file has that.
///
/// A reader that has gone away (`tamarack … | head -1`) is not an error.
pub fn text(text: &str) -> Result<(), Failure> {
    match TAKEN.load(Ordering::Relaxed) {
        true => write(io::stderr().lock(), "error", text),
        false => write(io::stdout().lock(), "output", text),
    }
}

/// Writes to a standard stream of that name.
fn write(mut stream: impl Write, name: &str, text: &str) -> Result<(), Failure> {
    let outcome = stream.write_all(text.as_bytes());
    match outcome.and_then(|()| stream.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::resources(
            format!("cannot write to standard {name}: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Says a line on standard error. Where that is closed or full, nobody listens.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether an object is printed, or is being printed.
static OBJECT: Mutex<bool> = Mutex::new(false);

fn object_begun() -> MutexGuard<'static, bool> {
    OBJECT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one JSON object, on several lines, to standard output.
pub fn json(object: &impl Serialize) -> Result<(), Failure> {
    *object_begun() = true;
    print_json(object)
}

/// Writes an object unless another was begun, for a program that ends at once: no other follows,
/// as [`json`] waits from now on.
pub fn last_json(object: &impl Serialize) {
    let begun = object_begun();
    if !*begun {
        // Where standard output is closed nobody listens.
        let _ = print_json(object);
    }
    mem::forget(begun);
}

fn print_json(object: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string_pretty(object)
        .map_err(|e| Failure::resources(format!("cannot write JSON: {e}")))?;
    // Half an object may be out: no other comes after it.
    write(io::stdout().lock(), "output", &(line + "\n")).map_err(Failure::after_result)
}

/// Counts as people read them: `1 234 567`.
pub fn grouped(count: impl Into<u128>) -> String {
    let digits = count.into().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// How many there are of something: `1 thread`, `1 234 threads`.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count as u64))
}

/// Seconds with the digits that matter.
pub fn secs(secs: f64) -> String {
    match secs {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 0.1 => format!("{:.2} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.3} s"),
        s if s < 600.0 => format!("{s:.1} s"),
        s => format!("{:.0} s", s),
    }
}

/// Operations: `3.42 Gflop`.
pub fn flops(flops: f64) -> String {
    let (value, unit) = match flops {
        f if f < 1e6 => (f / 1e3, "kflop"),
        f if f < 1e9 => (f / 1e6, "Mflop"),
        f if f < 1e12 => (f / 1e9, "Gflop"),
        f => (f / 1e12, "Tflop"),
    };
    format!("{value:.2} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(1234567u64), "1 234 567");
        assert_eq!(grouped(12u64), "12");
        assert_eq!(counted(1, "thread"), "1 thread");
        assert_eq!(counted(4321, "supernode"), "4 321 supernodes");
        assert_eq!(flops(3.42e9), "3.42 Gflop");
        assert_eq!(secs(0.0123), "12.30 ms");
        assert_eq!(secs(1.5), "1.500 s");
    }
}
