//! What signals do that `ctrlc` does not ask about.

use std::{mem, ptr};

use libc::c_int;

/// What a signal does now.
fn action(signal: c_int) -> Option<libc::sigaction> {
    let mut action = mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: no new action is given; where the call succeeds it has filled the old one.
    unsafe {
        let found = libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0;
        found.then(|| action.assume_init())
    }
}

/// Whether whoever started the program wants a signal to be ignored, as `nohup` does.
pub fn is_ignored(signal: c_int) -> bool {
    action(signal).is_some_and(|action| action.sa_sigaction == libc::SIG_IGN)
}

pub fn ignore(signal: c_int) {
    // SAFETY: no code of ours runs in a signal that is ignored.
    unsafe {
        libc::signal(signal, libc::SIG_IGN);
    }
}

/// Lets a signal do what another does, unless it is ignored.
pub fn treat_as(signal: c_int, other: c_int) {
    let Some(action) = action(other).filter(|_| !is_ignored(signal)) else {
        return;
    };
    // SAFETY: the action is one that the system has for another signal already; its handler does not ask which came.
    unsafe {
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}
