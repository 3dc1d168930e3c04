"""What runs beside every target: arrays in and out, the call itself, the cache of built objects, the toolchain."""
