/* Panels: columns in groups of CD_PANEL, [group][entry][column of the group]. LANES columns are a tile. */
#define CD_COLUMN(panel, size, k) ((panel) + (k) / CD_PANEL * CD_PANEL * (size) + (k) % CD_PANEL)

CD_STATIC void cd_from_panel(const real *panel, size_t size, real_v *w)
{
    size_t e;
    for (e = 0; e < size; e++) {
        w[e] = CD_GET_ALL(panel + e * CD_PANEL);
    }
}

CD_STATIC void cd_to_panel(const real_v *w, const cd_slot *slot, size_t size, real *panel)
{
    size_t e;
    for (e = 0; e < size; e++) {
        CD_PUT_ALL(panel + e * CD_PANEL, w[slot[e]]);
    }
}
