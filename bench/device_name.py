"""The GPU that a measurement was made on, for its file."""

import subprocess


def device_name():
    """CPU: there is none."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "CPU"
    except FileNotFoundError:
        return "CPU"
