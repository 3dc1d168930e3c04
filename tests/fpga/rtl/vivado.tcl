# What a Tcl shell needs to run the scripts for Vivado: its commands by name, each printed and answered by 1. A file, a
# port or a register that is not there, a clock by its name, and any other command are errors.
# tclsh vivado.tcl SCRIPT CLOCKS REGISTERS SLACK. CLOCKS: port {clock period} ..., those of the design outside.
lassign $argv script clock_of registers slack
set commands {create_project add_files set_property update_compile_order get_filesets get_runs ipx::package_project
    ipx::current_core ipx::infer_bus_interface ipx::associate_bus_interfaces ipx::create_xgui_files ipx::update_checksums
    ipx::check_integrity ipx::save_core close_project read_verilog synth_design opt_design place_design phys_opt_design
    route_design report_timing_summary report_utilization report_high_fanout_nets report_cdc write_checkpoint
    get_timing_paths create_clock set_max_delay}
set in_project {}

proc unknown {args} {
    if {[lindex $args 0] ni $::commands} { error "no command of Vivado: $args" }
    foreach word [join $args] {
        if {[regexp {^/.*[.](v|xdc|hex)$} $word] && ![file isfile $word]} { error "no file $word" }
        if {[lindex $args 0] eq "add_files"} { lappend ::in_project [file tail $word] }
    }
    puts [join $args " "]
    return 1
}
proc get_files {name} {
    if {$name ni $::in_project} { error "not in the project: $name" }
    return $name
}
proc get_ports {name} {
    if {![dict exists $::clock_of $name]} { error "no port $name" }
    return $name
}
proc get_clocks {option port} {
    if {$option ne "-of_objects"} { error "a clock by its name: $option" }
    return [lindex [dict get $::clock_of $port] 0]
}
proc get_cells {patterns} {
    foreach pattern $patterns {
        set text [string map {[*] * [ \\[ ] \\]} $pattern]
        if {[lsearch -glob $::registers $text] < 0} { error "no register $pattern" }
    }
    return $patterns
}
proc get_property {args} {
    if {[lindex $args end-1] eq "SLACK"} { return $::slack }
    foreach {port clock} $::clock_of {
        if {[lindex $clock 0] eq [lindex $args end]} { return [lindex $clock 1] }
    }
    error "no such property: $args"
}
proc read_xdc {args} {
    puts "read_xdc $args"
    uplevel #0 [list source [lindex $args end]]
}
source $script
