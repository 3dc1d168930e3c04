"""The same functions for other frameworks: imported only when it is used.

Each file needs its framework's package, which is an extra: `pip install 'condyle[NAME]'`.
"""
