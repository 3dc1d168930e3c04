# vivado -mode batch -source vivado_package.tcl: packages @top@ as an IP for block designs, in vivado/ip.
set here [file dirname [file normalize [info script]]]
set ip [file join $here vivado ip]
create_project -force -part @part@ package [file join $here vivado package]
foreach source {@sources@} { add_files -norecurse [file join $here $source] }
add_files -fileset constrs_1 -norecurse [file join $here clocks.xdc]
set_property USED_IN {out_of_context synthesis implementation} [get_files clocks.xdc]
foreach limits {@limits@} {
    add_files -fileset constrs_1 -norecurse [file join $here $limits]
    set_property SCOPED_TO_REF @top@ [get_files $limits]
    set_property PROCESSING_ORDER LATE [get_files $limits]
}
set_property top @top@ [get_filesets sources_1]
update_compile_order -fileset sources_1
ipx::package_project -root_dir $ip -vendor user.org -library condyle -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name @top@ $core
set_property version 1.0 $core
set_property supported_families {@families@} $core
ipx::infer_bus_interface {@slave@} xilinx.com:interface:axis_rtl:1.0 $core
ipx::infer_bus_interface {@master@} xilinx.com:interface:axis_rtl:1.0 $core
ipx::infer_bus_interface {@lite@} xilinx.com:interface:aximm_rtl:1.0 $core
ipx::infer_bus_interface aclk xilinx.com:signal:clock_rtl:1.0 $core
ipx::infer_bus_interface aresetn xilinx.com:signal:reset_rtl:1.0 $core
foreach bus {s_axis m_axis s_axil} { ipx::associate_bus_interfaces -busif $bus -clock aclk $core }
ipx::associate_bus_interfaces -clock aclk -reset aresetn $core
ipx::create_xgui_files $core
ipx::update_checksums $core
if {![ipx::check_integrity -quiet $core]} { error "ipx::check_integrity failed for the packaged IP" }
ipx::save_core $core
close_project
