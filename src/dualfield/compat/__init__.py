"""Other packages' interfaces over dualfield, for programs that are written against them."""
