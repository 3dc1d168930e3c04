
count:
	$(PYTHON) count.py "$(YOSYS)" $(SOURCES) fx_axi.v {name}_axi.v
