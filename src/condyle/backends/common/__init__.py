"""What targets share: chunks of a Program, storage of its values, exported text and folders."""
