

raise SystemExit(0)
