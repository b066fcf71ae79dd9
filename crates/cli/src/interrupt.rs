//! Ctrl-C and requests to terminate, the limit of processor time among them: a factorization is cancelled, anything else ends at
//! once; exit code 130 either way.

#[cfg(unix)]
mod signals;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tamarack::{Error, FactorError, files};

use crate::failure::{Failure, exit_code};
use crate::out;

/// Set by the first interrupt during a factorization.
static CANCEL: AtomicBool = AtomicBool::new(false);
/// Whether somebody looks at `CANCEL`. The lock is held while an interrupt is handled.
static WATCHED: Mutex<bool> = Mutex::new(false);

fn watched() -> MutexGuard<'static, bool> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches interrupts from now on. Without it they would leave half-written files behind, as would the limit of a file's size, which
/// from now on is an error of whoever writes.
pub fn install(json: bool) {
    let handler = move || {
        let watched = watched();
        if !*watched || CANCEL.swap(true, Ordering::SeqCst) {
            end(json);
        }
    };
    #[cfg(unix)]
    let hangup_is_ignored = signals::is_ignored(libc::SIGHUP);
    // Where no handler can be installed the default one ends the program.
    let _ = ctrlc::set_handler(handler);
    #[cfg(unix)]
    {
        if hangup_is_ignored {
            signals::ignore(libc::SIGHUP);
        }
        signals::treat_as(libc::SIGXCPU, libc::SIGTERM);
        signals::ignore(libc::SIGXFSZ);
    }
}

/// Runs `work` with a flag that an interrupt sets.
pub fn cancellable<T>(work: impl FnOnce(&AtomicBool) -> Result<T, Error>) -> Result<T, Error> {
    *watched() = true;
    let outcome = work(&CANCEL);
    *watched() = false;
    if outcome.is_ok() && CANCEL.load(Ordering::SeqCst) {
        // The interrupt came when the work had looked at the flag for the last time.
        return Err(FactorError::Cancelled.into());
    }
    outcome
}

/// Ends the program. Threads that want to print their own object or to finish a file wait for that.
fn end(json: bool) -> ! {
    files::abandon();
    if json {
        out::last_json(&Failure::interrupted().object());
    }
    std::process::exit(exit_code::INTERRUPTED.into());
}
