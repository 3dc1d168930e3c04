/* Copies and zeros without a library. An array that moves within itself moves towards its start. */
CD_STATIC void cd_move(real *to, const real *from, size_t count)
{
    size_t k;
    for (k = 0; k < count; k++) {
        to[k] = from[k];
        CD_KEEP(k);
    }
}

CD_STATIC void cd_clear(real *to, size_t count)
{
    size_t k;
    for (k = 0; k < count; k++) {
        to[k] = 0;
        CD_KEEP(k);
    }
}
