"""One measurement a file: `measure(subject)` gives what goes into the results file for one robot."""
