
# make ecp5: a bitstream for a ULX3S, with the accelerator at its serial port.
ecp5: {name}.bit

{name}_serial.json: $(SOURCES) fx_ecp5.v {name}_serial.v
	$(YOSYS) -q -p "read_verilog -DFX_MULTIPLIER $^; synth_ecp5 -top {name}_serial -json $@; tee -o ecp5.txt stat"

{name}.config: {name}_serial.json ulx3s.lpf
	$(NEXTPNR) --{size} --package CABGA381 --speed 6 --seed $(SEED) --json $< --lpf ulx3s.lpf --textcfg $@ \
		--report ecp5.json --log ecp5.log -q

{name}.bit: {name}.config
	$(ECPPACK) --compress $< $@
