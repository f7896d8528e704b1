"""Templates: rules that make attributes of the columns of tokens."""
