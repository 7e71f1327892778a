"""Nothing: no test's Program has a convolution."""
