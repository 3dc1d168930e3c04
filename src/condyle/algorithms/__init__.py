"""The algorithms of rigid-body dynamics, each a few sweeps over the tree, on any scalar."""
