"""The C target: portable C99, built by the system's compiler at first use, or exported as a project."""
