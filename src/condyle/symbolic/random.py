import numpy as np


def seed_words(seed):
    return (seed % 8191, seed // 8191 % 8191)


def uniform(key, counter, n):
    out = []
    for k in range(n):
        x = sum((j + 1) * 12.9898 * v for j, v in enumerate((*key, *counter))) + 78.233 * k
        s = np.sin(x) * 43758.5453
        out.append(s - np.floor(s))
    return np.stack(out)


def normal(key, counter, n):
    u = uniform(key, counter, 2 * n)
    return np.sqrt(-2 * np.log(u[:n] + 1e-7)) * np.cos(6.2831853 * u[n:])
