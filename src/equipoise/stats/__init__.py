"""The statistics, as functions of arrays: nothing here knows of probes, files or polars.

| module | what it holds |
| --- | --- |
| `influence` | derivatives of a metric, and so what each item adds to it |
| `variance` | linearised variances, degrees of freedom, finite populations |
| `bounds` | the smallest and the largest value that missing answers allow |
| `intervals` | Student's quantiles, the margin where nothing was seen, distances and ranges |
| `clusters` | variances for items that share something, one-way and crossed |
| `contrasts` | the maximum of several contrasts: ranges and distances, of one model and of two |
| `sign_flip` | the paired sign-flip test |
| `multiple_testing` | Holm, Benjamini and Hochberg |
| `proportions` | tests of two proportions: Fisher's exact test, and the z test |
| `power` | detectable differences, and sizes for a wanted half-width |
| `selection_rates` | impact ratios, and comparisons with the best |

Each function names its formula and where it is from. The tests hold each against an implementation by others.
"""
