//! Readers and writers of matrix, vector and permutation files.
