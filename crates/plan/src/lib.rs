//! What a factorization will cost and where everything goes, as data.
