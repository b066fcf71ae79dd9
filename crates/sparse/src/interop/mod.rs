//! Conversions from and to the types of other libraries, each behind a feature of its own.
