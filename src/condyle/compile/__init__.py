"""From a function of a robot to what runs: a route and a form are chosen, built and kept."""
