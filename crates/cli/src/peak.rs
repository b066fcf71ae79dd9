//! Peak of resident memory between two moments, from Linux's account of this process.

/// Begins a measurement: what is resident now does not count, and the peak is forgotten.
pub struct Peak {
    before_bytes: Option<u64>,
}

impl Peak {
    /// Notes what is resident now.
    pub fn begin() -> Self {
        Self {
            before_bytes: status("VmRSS:"),
        }
    }

    /// Forgets the peak so far. Where that is not allowed, an earlier peak counts too.
    pub fn reset() {
        // 5: reset the peak of resident memory (proc(5)).
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }

    /// Peak since the reset over what was resident at the beginning; `None` off Linux.
    pub fn end_bytes(&self) -> Option<u64> {
        Some(status("VmHWM:")?.saturating_sub(self.before_bytes?))
    }
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
