"""The floor of a quiet run, as a program: walk, read and hash all Markdown below a folder, and nothing else."""

import hashlib
import os
import sys

seen = {}
for place, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.lower().endswith((".md", ".markdown")):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                seen[path] = hashlib.sha256(file.read()).hexdigest()
