"""What targets share: cutting a Program into chunks and placing its values in a tile."""
