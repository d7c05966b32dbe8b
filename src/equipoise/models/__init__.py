"""Who answers a prompt (chat endpoints, the embedded model, functions); retries and storage belong to `runs/`."""
