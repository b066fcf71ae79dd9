//! Plans and bytes as people read them.

use std::fmt;

use crate::plan::FactorPlan;

/// A number of bytes that prints itself as `71.3 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        match unit {
            "B" => write!(f, "{} B", self.0),
            _ => write!(f, "{value:.1} {unit}"),
        }
    }
}

impl fmt::Display for FactorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbolic = self.symbolic();
        let (stats, memory) = (symbolic.stats(), self.memory());
        let row = |f: &mut fmt::Formatter<'_>, name: &str, value: String| {
            writeln!(f, "{name:<22}{value}")
        };
        row(f, "unknowns", symbolic.n().to_string())?;
        row(f, "entries of A (lower)", stats.nnz_a.to_string())?;
        row(
            f,
            "entries of L",
            format!("{} ({} kept)", stats.nnz_l, stats.nnz_l_stored),
        )?;
        let flops = (stats.flops as f64, stats.flops_stored as f64);
        row(
            f,
            "operations",
            format!("{:.3e} ({:.3e} done)", flops.0, flops.1),
        )?;
        let largest = self.largest_front();
        let fronts = format!("{} (largest of order {largest})", symbolic.supernodes());
        row(f, "supernodes", fronts)?;
        let tasks = format!(
            "{} + {} fronts shared",
            self.groves().len(),
            self.top().len()
        );
        row(f, "subtree tasks", tasks)?;
        row(f, "factor", Bytes(memory.factor_bytes).to_string())?;
        row(f, "update matrices", Bytes(memory.update_bytes).to_string())?;
        row(f, "workspace", Bytes(memory.workspace_bytes).to_string())?;
        row(f, "analysis", Bytes(memory.analysis_bytes).to_string())?;
        row(f, "peak", Bytes(memory.peak_bytes()).to_string())?;
        let (secs, threads) = (self.predicted_secs(), self.threads());
        let plural = if threads == 1 { "" } else { "s" };
        let secs = match secs {
            short if short < 1e-3 => format!("{:.0} us", short * 1e6),
            short if short < 1.0 => format!("{:.2} ms", short * 1e3),
            _ => format!("{secs:.3} s"),
        };
        write!(f, "{:<22}{secs} on {threads} thread{plural}", "predicted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_fitting_units() {
        let shown: Vec<String> = [0, 1023, 1024, 76558696653, u64::MAX]
            .map(|b| Bytes(b).to_string())
            .into();
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "71.3 GiB", "16.0 EiB"]);
    }
}
