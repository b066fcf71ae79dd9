//! Analyses as bytes, to be kept and read again.

use std::sync::Arc;

use tamarack_sparse::Pattern;
use tamarack_symbolic::SymbolicFactor;

use crate::analysis::AnalysisSecs;
use crate::device::{self, Device, Opening};
use crate::{Analysis, Error, Options, Place};

impl Analysis {
    /// The analysis as bytes: fingerprint of the pattern, then the structure of the factor.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.pattern.fingerprint().to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.symbolic().to_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) made of the analysis of `pattern`, and plans anew, so
    /// that machine, precision and thread count may differ. `options.ordering` is not looked at.
    ///
    /// # Errors
    /// [`Error::Symbolic`] for damaged bytes, [`Error::OtherPattern`] for those of another pattern.
    pub fn from_bytes(
        bytes: &[u8],
        pattern: &Arc<Pattern>,
        options: &Options,
    ) -> Result<Self, Error> {
        let (fingerprint, body) = bytes.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        let symbolic = SymbolicFactor::from_bytes(body)?;
        let same = u64::from_le_bytes(*fingerprint) == pattern.fingerprint();
        if symbolic.n() != pattern.n() || !same {
            return Err(Error::OtherPattern {
                saved: symbolic.n(),
                n: pattern.n(),
            });
        }
        let symbolic = Arc::new(symbolic);
        let seconds = AnalysisSecs::default();
        let mut analysis = Self::planned(pattern, symbolic, "saved", options, seconds)?;
        analysis.place = match options.device {
            Device::Cpu => analysis.place,
            Device::Gpu(index) => {
                Opening::begin(index, options, false)?.place(analysis.symbolic(), options)?
            }
            Device::Auto => {
                let secs = analysis.plan.predicted_secs();
                device::choose(analysis.symbolic(), options, secs)
            }
        };
        if let Place::Gpu { .. } = analysis.place {
            analysis.call_witness(options, true);
        }
        analysis.within_budget()
    }
}
