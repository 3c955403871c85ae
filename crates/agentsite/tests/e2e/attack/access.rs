//! Access: a network address, a proxy or a process of an agent never grants rights; only proof does.
