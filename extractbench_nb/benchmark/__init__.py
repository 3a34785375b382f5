"""The benchmark: the dataset, its loader and what is computed from them."""
