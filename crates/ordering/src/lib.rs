//! Fill-reducing orderings: minimum degree family, RCM.
