# vivado -mode batch -source vivado_project.tcl: makes a project with all sources, in vivado/project.
# @top@ has more ports than a part has pins, so it is synthesised out of context. Instantiate it in your own top.
set here [file dirname [file normalize [info script]]]
create_project -force -part @part@ @top@ [file join $here vivado project]
foreach source {@sources@} { add_files -norecurse [file join $here $source] }
add_files -fileset constrs_1 -norecurse [file join $here clocks.xdc]
set_property USED_IN {out_of_context synthesis implementation} [get_files clocks.xdc]
foreach limits {@limits@} {
    add_files -fileset constrs_1 -norecurse [file join $here $limits]
    set_property PROCESSING_ORDER LATE [get_files $limits]
}
add_files -fileset sim_1 -norecurse [list @simulation@]
set_property top @top@ [get_filesets sources_1]
set_property top @name@_bench [get_filesets sim_1]
set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} -objects [get_runs synth_1]
update_compile_order -fileset sources_1
