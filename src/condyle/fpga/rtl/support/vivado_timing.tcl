# vivado -mode batch -source vivado_timing.tcl: synthesises, places and routes @top@ alone, out of context.
# Writes reports into vivado/. Fails if a path is longer than a clock cycle.
set here [file dirname [file normalize [info script]]]
set out [file join $here vivado]
file mkdir $out
foreach source {@sources@} { read_verilog [file join $here $source] }
read_xdc -mode out_of_context [file join $here clocks.xdc]
foreach limits {@limits@} { read_xdc [file join $here $limits] }
synth_design -mode out_of_context -flatten_hierarchy rebuilt -top @top@ -part @part@
report_utilization -hierarchical -file [file join $out synthesised.rpt]
opt_design
place_design
phys_opt_design
route_design
report_timing_summary -max_paths 20 -file [file join $out timing.rpt]
report_utilization -hierarchical -file [file join $out utilization.rpt]
report_high_fanout_nets -max_nets 20 -file [file join $out fanout.rpt]
report_cdc -details -file [file join $out cdc.rpt]
write_checkpoint -force [file join $out @top@.dcp]
set slack [get_property SLACK [lindex [get_timing_paths -setup -max_paths 1] 0]]
puts "@top@: worst setup slack $slack ns of a cycle of @period@ ns"
if {$slack < 0} { error "a path is longer than a cycle: see vivado/timing.rpt" }
