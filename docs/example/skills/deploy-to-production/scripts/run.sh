#!/bin/sh
set -eu
uv run pytest -q
docker build -t tidewatch .
./ops/ship.sh production
