"""Simulated models show whether intervals, marks, tests and gates hold what they promise.

| module | what it holds |
| --- | --- |
| `worlds` | the prompts of a probe, and what models look at |
| `models` | models whose true metrics are known |
| `answers` | answers drawn as counts by item, and which of them are lost |
| `runs` | many runs of a model: cells ready to be measured, and the truth |
| `rates` | the coverage of a single rate, by exact enumeration |
| `coverage` | intervals and marks, each suite included; asking until the marks are certain |
| `limits` | models whose metrics lie just beside the limits between two marks |
| `missing` | intervals united with the bounds of missing answers |
| `generalising` | intervals for prompts like these |
| `comparing` | two runs side by side |
| `gates` | gates on all probes together |
| `ratios` | impact ratios of categories of people |
| `jobs` | which of these are simulated, with how many runs |
| `goals` | what the page promises, and which promises are broken |
| `page` | the tables of docs/calibration.md |

`python -m benchmarks.calibrate` runs the jobs and writes the page.
"""
