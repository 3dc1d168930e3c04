"""Vectors, rotations and inertias of rigid-body dynamics, written on any scalar."""
