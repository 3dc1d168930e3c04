"""The algorithms of rigid-body dynamics, each a few sweeps over the tree, on any scalar.

The equations are in docs/algorithms.md. Shared by all: `sweeps` (what a step and a sweep are), `unrolled` (sweeps on
numbers or symbols), `joint` and `placed` (a joint and its body), `values`, `matrix` (sparse matrices), `normal_form`,
`reframe` and `regroup` (the tree that a function is computed on).

| quantity | files |
|---|---|
| placements, velocities, Jacobians of frames | `kinematics`, `jacobians` |
| centre of mass, momentum, energy, Coriolis matrix | `momentum`, `near_base`, `energy` |
| inverse dynamics, its regressor | `rnea`, `regressor`, `rotors` (armature), `damping` |
| mass matrix M, its factors, M^-1 | `crba`, `ltl`, `minv`, `mminvgen` |
| forward dynamics, solves with M | `aba`, `solvers` |
| derivatives of inverse dynamics | `derivatives` (by name), `rnea_derivatives`, `rnea_adjoint`, `rnea_columns`, |
| | `rnea_refactored`, `free_base`, `world_forces` |
| contacts: J and gamma, motion and forces | `contacts`, `contact_forces`, `contact_elimination`, `least_forces` |
| contacts: derivatives, products with K^-1, friction | `contact_derivatives`, `contact_products`, `contact_friction` |
| q ⊕ dv, q1 ⊖ q0, one step of time | `configurations`, `stepping` |
| the same, parallel in the links | `parallel/` |
"""
