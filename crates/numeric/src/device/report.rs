//! A device plan as people read it.

use std::fmt;

use tamarack_plan::Bytes;

use super::plan::DevicePlan;

impl fmt::Display for DevicePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (symbolic, staged) = (self.symbolic(), self.staged());
        let stats = symbolic.stats();
        let number_bytes = self.precision().bytes() as u64;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, value: String| {
            writeln!(f, "{name:<22}{value}")
        };
        row(f, "unknowns", symbolic.n().to_string())?;
        row(f, "entries of A (lower)", stats.nnz_a.to_string())?;
        let kept = format!("{} ({} kept)", stats.nnz_l, stats.nnz_l_stored);
        row(f, "entries of L", kept)?;
        let flops = (stats.flops as f64, stats.flops_stored as f64);
        let operations = format!("{:.3e} ({:.3e} done)", flops.0, flops.1);
        row(f, "operations", operations)?;
        row(f, "supernodes", symbolic.supernodes().to_string())?;
        row(f, "stages", staged.stages().to_string())?;
        let factor = staged.factor_len() * number_bytes;
        row(f, "factor", Bytes(factor).to_string())?;
        let update = self.arena_bytes() - factor;
        row(f, "update matrices", Bytes(update).to_string())?;
        row(
            f,
            "peak on the device",
            Bytes(self.device_bytes()).to_string(),
        )?;
        write!(f, "{:<22}{:.3} s", "predicted", self.predicted_secs())
    }
}
