//! Ctrl-C: a factorization is cancelled, anything else ends at once; exit code 130 either way.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::atomic::remove_pending;
use crate::failure::exit_code;

/// Set by the first Ctrl-C during a factorization.
static CANCEL: AtomicBool = AtomicBool::new(false);
/// Whether somebody looks at `CANCEL`.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Catches interrupts from now on. Without it they would leave half-written files behind.
pub fn install() {
    let handler = || {
        if !WATCHED.load(Ordering::SeqCst) || CANCEL.swap(true, Ordering::SeqCst) {
            remove_pending();
            std::process::exit(exit_code::INTERRUPTED.into());
        }
    };
    // Where no handler can be installed the default one ends the program.
    let _ = ctrlc::set_handler(handler);
}

/// Runs `work` with a flag that an interrupt sets.
pub fn cancellable<T>(work: impl FnOnce(&AtomicBool) -> T) -> T {
    WATCHED.store(true, Ordering::SeqCst);
    let value = work(&CANCEL);
    WATCHED.store(false, Ordering::SeqCst);
    value
}
