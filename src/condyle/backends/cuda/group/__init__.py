"""Several lanes of a warp on one state: the operations of a Program dealt out to lanes, step by step."""
