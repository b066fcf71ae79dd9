//! How much memory new work may take on this machine.
//!
//! The kernel's own estimate, lowered to what the limits of this process leave: those of its control groups, of version 1 and 2, up to
//! their roots, and of its address space. What a group holds of files can be had again, as it can in the kernel's estimate.

use std::fs;
use std::path::Path;

/// Memory that new work may take without swapping, in bytes: Linux's `MemAvailable`, lowered to what the process's control groups
/// and its address space still allow. `None` on other systems.
pub fn available_memory_bytes() -> Option<u64> {
    available_under(Path::new("/"))
}

/// The same where the file system of the kernel's answers begins at `root`.
fn available_under(root: &Path) -> Option<u64> {
    let machine = labelled(&root.join("proc/meminfo"), "MemAvailable:")?.checked_mul(1024)?;
    let process = root.join("proc/self");
    Some(
        machine
            .min(left_by_groups(root, &process))
            .min(left_of_addresses(&process)),
    )
}

/// What a version of control groups calls its files and figures.
struct Names {
    limit: &'static str,
    usage: &'static str,
    /// Lines of `memory.stat`: memory that the kernel takes back where it is needed.
    reclaimable: &'static [&'static str],
}

const VERSION_1: Names = Names {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: &["total_inactive_file", "total_active_file"],
};

const VERSION_2: Names = Names {
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: &["inactive_file", "active_file", "slab_reclaimable"],
};

/// The least that the process's groups and those above them leave.
fn left_by_groups(root: &Path, process: &Path) -> u64 {
    let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
    let mounted = root.join("sys/fs/cgroup");
    let left = groups.lines().filter_map(|line| {
        // number:controllers:path, without controllers in version 2
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        if controllers.is_empty() {
            Some(left_up_from(&mounted, path, &VERSION_2))
        } else if controllers.split(',').any(|name| name == "memory") {
            Some(left_up_from(&mounted.join("memory"), path, &VERSION_1))
        } else {
            None
        }
    });
    left.min().unwrap_or(u64::MAX)
}

/// The least that the group at `path` below `mounted` and those above it leave. Seen from inside of a container, its own group may be
/// what is mounted, and the path not be there.
fn left_up_from(mounted: &Path, path: &str, names: &Names) -> u64 {
    let path = Path::new(path.trim_start_matches('/'));
    let left = path
        .ancestors()
        .filter_map(|group| left_in(&mounted.join(group), names));
    left.min().unwrap_or(u64::MAX)
}

/// What the limit of one group leaves; `None` where there is no limit.
fn left_in(group: &Path, names: &Names) -> Option<u64> {
    let number = |name| -> Option<u64> {
        let text = fs::read_to_string(group.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let (limit, usage) = (number(names.limit)?, number(names.usage)?);
    let stat = group.join("memory.stat");
    let files = names
        .reclaimable
        .iter()
        .filter_map(|name| labelled(&stat, name));
    let held = usage.saturating_sub(files.sum());
    Some(limit.saturating_sub(held))
}

/// What the limit of the address space leaves.
fn left_of_addresses(process: &Path) -> u64 {
    let Some(limit) = labelled(&process.join("limits"), "Max address space") else {
        return u64::MAX; // there is none
    };
    let used = labelled(&process.join("status"), "VmSize:").unwrap_or(0);
    limit.saturating_sub(used.saturating_mul(1024))
}

/// The number that follows a label at the beginning of a line of a file.
fn labelled(file: &Path, label: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| {
        let rest = line.strip_prefix(label)?;
        // not a longer label
        (label.ends_with(':') || rest.starts_with(char::is_whitespace)).then_some(rest)
    })?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// What is available where the kernel answers with these files.
    fn available(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        available_under(root.path())
    }

    const MACHINE: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n",
    );

    #[test]
    fn the_kernel_is_believed_where_nothing_limits() {
        assert_eq!(available(&[]), None);
        assert_eq!(available(&[MACHINE]), Some(8 * GIB));
        let without = [
            MACHINE,
            ("proc/self/cgroup", "0::/\n"),
            (
                "proc/self/limits",
                "Max address space         unlimited            unlimited            bytes\n",
            ),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/memory.current", "123\n"),
        ];
        assert_eq!(available(&without), Some(8 * GIB));
    }

    #[test]
    fn files_that_a_group_holds_can_be_had_again() {
        let group = [
            MACHINE,
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "4294967296\n"),
            ("sys/fs/cgroup/memory.current", "4200000000\n"),
            (
                "sys/fs/cgroup/memory.stat",
                "anon 1\ninactive_file_of_another 7\ninactive_file 4000000000\nactive_file 100000000\n",
            ),
        ];
        assert_eq!(available(&group), Some(4 * GIB - 100_000_000));
    }

    #[test]
    fn the_tightest_group_on_the_way_up_counts() {
        let nested = [
            MACHINE,
            (
                "proc/self/cgroup",
                "12:cpu:/other\n0::/user.slice/job.scope\n",
            ),
            ("sys/fs/cgroup/user.slice/memory.max", "3000000\n"),
            ("sys/fs/cgroup/user.slice/memory.current", "1000000\n"),
            ("sys/fs/cgroup/user.slice/job.scope/memory.max", "5000000\n"),
            (
                "sys/fs/cgroup/user.slice/job.scope/memory.current",
                "4000000\n",
            ),
            ("sys/fs/cgroup/neighbor/memory.max", "1\n"),
            ("sys/fs/cgroup/neighbor/memory.current", "1\n"),
        ];
        assert_eq!(available(&nested), Some(1_000_000));
    }

    #[test]
    fn groups_of_version_1_count_too() {
        let first = [
            MACHINE,
            ("proc/self/cgroup", "4:cpuset,memory:/job\n0::/\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n"),
            (
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes",
                "50000000\n",
            ),
            (
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes",
                "30000000\n",
            ),
            (
                "sys/fs/cgroup/memory/job/memory.stat",
                "inactive_file 1\ntotal_inactive_file 5000000\n",
            ),
        ];
        assert_eq!(available(&first), Some(25_000_000));
    }

    #[test]
    fn the_address_space_may_be_limited() {
        let limited = [
            MACHINE,
            (
                "proc/self/limits",
                "Limit  Soft Limit  Hard Limit  Units\nMax address space         430080000            430080000            bytes\n",
            ),
            (
                "proc/self/status",
                "Name:\tx\nVmPeak:\t  1 kB\nVmSize:\t  20000 kB\n",
            ),
        ];
        assert_eq!(available(&limited), Some(430_080_000 - 20_480_000));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_memory() {
        assert!(available_memory_bytes().unwrap() > 1 << 20);
    }
}
