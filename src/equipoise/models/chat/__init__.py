"""Models behind an HTTP endpoint: addresses, keys, wire formats, what errors mean; retries belong to `runs/ask/`."""
