/* Panels: columns in groups of CD_PANEL, [group][entry][column of the group]; column k of one with `size` entries. */
#define CD_COLUMN(panel, size, k) ((panel) + (k) / CD_PANEL * CD_PANEL * (size) + (k) % CD_PANEL)
#if LANES > 1
#define CD_FIRST(x) (x)[0]
#else
#define CD_FIRST(x) (x)
#endif
