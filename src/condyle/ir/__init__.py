"""The intermediate representation: scalar operations, its forms (Program, loops, segments), and their interpreters."""
