"""The robot as data: joints, bodies, frames, and the checks and changes that need no dynamics."""
