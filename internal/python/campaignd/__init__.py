"""Lab campaigns from Python."""
