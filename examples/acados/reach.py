"""An iiwa14 reaches for 0.5 rad in every joint, by acados: SQP with exact Hessians of Condyle. See README.md."""

from pathlib import Path

import casadi
import numpy as np
from acados_template import AcadosModel, AcadosOcp, AcadosOcpSolver

N, T, n = 64, 1.28, 7

fd = casadi.external("arm_fd", "./libarm.so")
model = AcadosModel()
model.name = "reach"
model.x, model.u = casadi.MX.sym("x", 2 * n), casadi.MX.sym("u", n)
model.f_expl_expr = casadi.vertcat(model.x[n:], fd(model.x[:n], model.x[n:], model.u))

ocp = AcadosOcp()
ocp.model = model
ocp.solver_options.N_horizon, ocp.solver_options.tf = N, T
goal = np.r_[np.full(n, 0.5), np.zeros(n)]
ocp.cost.cost_type, ocp.cost.cost_type_e = "EXTERNAL", "EXTERNAL"
model.cost_expr_ext_cost = casadi.sumsqr(model.x - goal) + 1e-3 * casadi.sumsqr(model.u)
model.cost_expr_ext_cost_e = 100 * casadi.sumsqr(model.x - goal)
ocp.constraints.x0 = np.zeros(2 * n)
ocp.constraints.idxbu = np.arange(n)
ocp.constraints.lbu, ocp.constraints.ubu = np.full(n, -150.0), np.full(n, 150.0)
ocp.solver_options.integrator_type = "ERK"
ocp.solver_options.nlp_solver_type = "SQP"
ocp.solver_options.hessian_approx = "EXACT"
ocp.solver_options.regularize_method = "CONVEXIFY"
ocp.code_gen_options.model_external_shared_lib_dir = str(Path.cwd())  # ocp.solver_options before acados 0.5.4
ocp.code_gen_options.model_external_shared_lib_name = "arm"

solver = AcadosOcpSolver(ocp)
assert solver.solve() == 0
print(solver.get(N, "x"))
