"""Images of tasks: built from specifications, pinned, verified, brought here and evicted (docs/images.md)."""
