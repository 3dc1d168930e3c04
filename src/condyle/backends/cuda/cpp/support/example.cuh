bool check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        std::printf("%s: %s\n", what, cudaGetErrorString(status));
    }
    return status == cudaSuccess;
}

/* n rows: the rows of known states, repeated. */
template <typename T>
void fill(T *rows, size_t n, const double *known, size_t size)
{
    for (size_t k = 0; k < n * size; k++) {
        rows[k] = T(known[k % (STATES * size)]);
    }
}

/* Compares every row with the known result; the error is relative to the largest entry. allowed: the largest error of
 * float; that of double is a millionth of it. */
template <typename T>
bool compare(const char *what, const T *rows, size_t n, const double *known, size_t size, double allowed)
{
    double scale = 0, error = 0;
    bool right = true;
    for (size_t k = 0; k < n * size; k++) {
        const double wanted = known[k % (STATES * size)], off = std::fabs(double(rows[k]) - wanted);
        scale = std::fmax(scale, std::fabs(wanted));
        error = std::fmax(error, off);
        right = right && off == off;
    }
    right = right && error <= (sizeof(T) == 8 ? 1e-6 : 1) * allowed * scale;
    std::printf("%-24s %-6s %s  error %.1e of %.1e\n", what, sizeof(T) == 8 ? "double" : "float",
                right ? "right" : "WRONG", error, scale);
    return right;
}
