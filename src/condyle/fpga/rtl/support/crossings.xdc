# The longest delay between the two clocks. No clock is created here: the periods are those of the clocks that reach the
# ports, so this file is read late, and inside a design it is scoped to the module. Gray-coded pointers cross: no bit may
# arrive a cycle later than another. An asynchronous clock group would leave these paths without a limit.
set bus [get_clocks -of_objects [get_ports aclk]]
set core [get_clocks -of_objects [get_ports core_clk]]
set shorter [expr {min([get_property -min PERIOD $bus], [get_property -min PERIOD $core])}]
set_max_delay -datapath_only -from $bus -to [get_cells {core_reset/chain_reg[0] beats_in/tail_1_reg[*] \
    beats_in/leaves/out_data_reg[*] beats_out/head_1_reg[*]}] $shorter
set_max_delay -datapath_only -from $core -to [get_cells {done_chain_reg[0] beats_out/tail_1_reg[*] \
    beats_out/leaves/out_data_reg[*] beats_in/head_1_reg[*]}] $shorter
