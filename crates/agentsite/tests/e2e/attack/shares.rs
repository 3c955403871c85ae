//! Shares: connections, streams, sockets and deliveries are shared fairly among owners and addresses.
