//! Storage: what one owner stores is bounded, and a full disk neither loses nor blocks anything.
