
count:
	$(PYTHON) count.py "$(YOSYS)" $(SOURCES)
