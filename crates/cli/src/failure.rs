//! Why a command failed: what is printed, and the exit code.

use std::process::ExitCode;

use serde::Serialize;
use tamarack::{Error, ErrorKind};
use tamarack_gpu::GpuError;

/// Exit codes, as `tamarack --help` documents them.
pub mod exit_code {
    pub const USAGE: u8 = 1;
    pub const INPUT: u8 = 2;
    pub const NOT_POSITIVE_DEFINITE: u8 = 3;
    pub const RESOURCES: u8 = 4;
    pub const TOLERANCE: u8 = 5;
    pub const INTERRUPTED: u8 = 130;
}

/// A failed command.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// `usage`, `input`, `not_positive_definite`, `resources`, `cancelled` or `tolerance`.
    pub kind: &'static str,
    pub message: String,
    /// User's column, from 0, of a matrix that is not positive definite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Its elimination position, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The pivot found there; null where it is not a finite number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pivot: Option<f64>,
    /// The likely cause, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    #[serde(skip)]
    pub code: u8,
    /// The result was printed all the same: nothing more goes to standard output.
    #[serde(skip)]
    pub reported: bool,
}

impl Failure {
    fn new(kind: &'static str, code: u8, message: String) -> Self {
        Self {
            kind,
            message,
            column: None,
            position: None,
            pivot: None,
            cause: None,
            code,
            reported: false,
        }
    }

    pub fn usage(message: String) -> Self {
        Self::new("usage", exit_code::USAGE, message)
    }

    pub fn input(message: String) -> Self {
        Self::new("input", exit_code::INPUT, message)
    }

    pub fn resources(message: String) -> Self {
        Self::new("resources", exit_code::RESOURCES, message)
    }

    /// The answer is printed, and is not as accurate as it should be.
    pub fn tolerance(message: String) -> Self {
        Self::new("tolerance", exit_code::TOLERANCE, message).after_result()
    }

    /// What an interrupt ends that cannot be cancelled.
    pub fn interrupted() -> Self {
        Self::new("cancelled", exit_code::INTERRUPTED, "interrupted".into())
    }

    /// The same failure, after the result was printed.
    pub fn after_result(self) -> Self {
        Self {
            reported: true,
            ..self
        }
    }

    /// What `--json` prints.
    pub fn object(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Object<'a> {
            error: &'a Failure,
        }
        Object { error: self }
    }

    pub fn exit_code(&self) -> ExitCode {
        self.code.into()
    }

    /// The same failure, said of a file or model: the solver does not know what its matrix is called.
    pub fn about(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        Self::resources(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let (kind, code) = match error.kind() {
            ErrorKind::Input | ErrorKind::OtherPattern => ("input", exit_code::INPUT),
            ErrorKind::NotPositiveDefinite => {
                ("not_positive_definite", exit_code::NOT_POSITIVE_DEFINITE)
            }
            ErrorKind::Cancelled => ("cancelled", exit_code::INTERRUPTED),
            ErrorKind::Usage | ErrorKind::Stale => ("usage", exit_code::USAGE),
            // Resources, and kinds that are added later.
            _ => ("resources", exit_code::RESOURCES),
        };
        let mut failure = Self::new(kind, code, message);
        if let Some(bad) = error.not_positive_definite() {
            failure.column = Some(bad.column.0);
            failure.position = Some(bad.position.0);
            failure.pivot = Some(bad.pivot);
            failure.cause = Some(bad.cause.to_string());
        }
        failure
    }
}
