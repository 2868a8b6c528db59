"""One protocol, several ways to run a request: see `protocol`. No sandbox imports another."""
