"""The algorithms of rigid-body dynamics, each a few sweeps over the tree, on any scalar; README.md says which file."""
