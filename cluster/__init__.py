"""Where the instrument runs at scale: sweeps, dispatch, sandboxes, ledger, metrics."""
