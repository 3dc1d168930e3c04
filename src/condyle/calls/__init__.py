"""`Dynamics`, which is all functions of one robot, and calls of them with arrays.

`dynamics` (the object, on the processor; `gpu` on a GPU), `call` (a function with arguments by name), `methods` (the
methods of `Dynamics`, made from specifications), `rollouts` (with arguments that have an axis of time),
`mapping` (batches larger than memory).
"""
