"""Several lanes of a warp for one state: the operations of a Program are assigned to lanes, step by step."""
