"""Each function of `equipoise.stats` held against an implementation by others, or brute force."""
