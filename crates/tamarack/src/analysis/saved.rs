//! Analyses by a structure that is there already: kept as bytes and read again, or another one's with other options.

use std::sync::Arc;

use tamarack_sparse::Pattern;
use tamarack_symbolic::{SymbolicError, SymbolicFactor};

use crate::analysis::{AnalysisSecs, SAVED};
use crate::device::{self, Device, Opening};
use crate::{Analysis, Error, Options, Place};

impl Analysis {
    /// The analysis as bytes: fingerprint of the pattern, the structure of the factor, and a checksum of both. For this version of the
    /// library: another one may refuse them as damaged.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.pattern.fingerprint().to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.symbolic().to_bytes());
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) made of the analysis of `pattern`, and plans anew, so
    /// that machine, precision and thread count may differ. `options.ordering` is not looked at.
    ///
    /// # Errors
    /// [`Error::Symbolic`] for damaged bytes, [`Error::OtherPattern`] for those of another pattern, and as
    /// [`new`](Self::new) where the plan needs more memory than it may use.
    pub fn from_bytes(
        bytes: &[u8],
        pattern: &Arc<Pattern>,
        options: &Options,
    ) -> Result<Self, Error> {
        let analysis = Self::from_bytes_unbudgeted(bytes, pattern, options)?;
        analysis.check_memory()?;
        Ok(analysis)
    }

    /// The same without a look at the memory budget, as [`unbudgeted`](Self::unbudgeted) is beside [`new`](Self::new).
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), memory of the host aside.
    pub fn from_bytes_unbudgeted(
        bytes: &[u8],
        pattern: &Arc<Pattern>,
        options: &Options,
    ) -> Result<Self, Error> {
        let (fingerprint, body) = intact(bytes)?;
        let symbolic = SymbolicFactor::from_bytes(body)?;
        if fingerprint != pattern.fingerprint() || !symbolic.is_of(pattern) {
            return Err(Error::OtherPattern {
                saved: symbolic.n(),
                n: pattern.n(),
            });
        }
        Self::of_structure(pattern, Arc::new(symbolic), SAVED, options)
    }

    /// The same order and structure with other options: precision, refinement, shifts, threads, device, memory. What is not looked at is
    /// [`Options::ordering`] and [`Options::symbolic`]. It plans anew, in a small part of an analysis's time; both analyses and their factors
    /// share the structure and go on. Its supernodes suit the device that it was made for: for another one a new analysis in the same order
    /// ([`Ordering::Permutation`](crate::Ordering::Permutation)) may be faster.
    ///
    /// ```
    /// use tamarack::{Analysis, Options, Precision, SymmetricCsc, models::Model};
    ///
    /// # fn main() -> Result<(), tamarack::Error> {
    /// let a: SymmetricCsc<f64> = "p2d5_20".parse::<Model>()?.generate()?;
    /// let analysis = Analysis::new(a.pattern(), &Options::default())?;
    /// let mut mixed = Options::default();
    /// mixed.precision = Precision::Mixed;
    /// let factor = analysis.with_options(&mixed)?.factorize(&a)?;
    /// # drop(factor);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), where the plan needs more memory than it may use.
    pub fn with_options(&self, options: &Options) -> Result<Self, Error> {
        let symbolic = self.symbolic().clone();
        let analysis = Self::of_structure(&self.pattern, symbolic, self.ordering, options)?;
        analysis.check_memory()?;
        Ok(analysis)
    }

    /// Plans with a structure that is there.
    fn of_structure(
        pattern: &Arc<Pattern>,
        symbolic: Arc<SymbolicFactor>,
        ordering: &'static str,
        options: &Options,
    ) -> Result<Self, Error> {
        let seconds = AnalysisSecs::default();
        let mut analysis = Self::planned(pattern, symbolic, ordering, options, seconds)?;
        analysis.place = match options.device {
            Device::Cpu => analysis.place,
            Device::Gpu(index) => Opening::begin(index, options, false)?
                .wait()?
                .place(analysis.symbolic(), options)?,
            Device::Auto => {
                let secs = analysis.plan.predicted_secs();
                device::choose(analysis.symbolic(), options, secs)
            }
        };
        if let Place::Gpu { .. } = analysis.place {
            analysis.call_witness(options, true);
        }
        Ok(analysis)
    }

    /// A new analysis in the order of one that [`to_bytes`](Self::to_bytes) made bytes of. With a device other than [`Device::Cpu`], where
    /// supernodes must suit the one that is taken this time, and whom a card asks why a matrix was refused is known to a new analysis
    /// only. Its ordering is called `saved`; the memory budget is not looked at.
    ///
    /// # Errors
    /// As [`from_bytes_unbudgeted`](Self::from_bytes_unbudgeted) and [`unbudgeted`](Self::unbudgeted).
    pub fn from_saved_order(
        bytes: &[u8],
        pattern: &Arc<Pattern>,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut options = options.clone();
        let device = std::mem::replace(&mut options.device, Device::Cpu);
        let saved = Self::from_bytes_unbudgeted(bytes, pattern, &options)?;
        options.device = device;
        options.ordering = saved.symbolic().permutation().clone().into();
        options.symbolic.sorted_columns = false; // they are as they would be had they not been saved
        drop(saved);
        let analysis = Self::unbudgeted(pattern, &options)?;
        Ok(Self {
            ordering: SAVED,
            ..analysis
        })
    }
}

/// The fingerprint and what follows it, if the checksum at the end is right.
fn intact(bytes: &[u8]) -> Result<(u64, &[u8]), SymbolicError> {
    let parts = bytes.split_last_chunk::<8>().and_then(|(content, sum)| {
        let is_right = checksum(content) == u64::from_le_bytes(*sum);
        is_right.then(|| content.split_first_chunk::<8>())?
    });
    let Some((fingerprint, body)) = parts else {
        let what = "its checksum is not that of its bytes".into();
        return Err(SymbolicError::Corrupt { what });
    };
    Ok((u64::from_le_bytes(*fingerprint), body))
}

/// A sum that a changed bit or a missing end changes.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let start = 0x6a09_e667_f3bc_c909 ^ bytes.len() as u64;
    words.iter().chain([&last]).fold(start, |sum, word| {
        (sum ^ u64::from_le_bytes(*word))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    })
}
