"""The footprint of patches: how much code they leave behind, in coding units."""
