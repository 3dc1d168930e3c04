"""`Dynamics`, and calls of the functions of one robot."""
