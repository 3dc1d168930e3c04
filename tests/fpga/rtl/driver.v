// Sends the beats of a file and writes the beats that come back, each with its cycle, into another one; then the registers.
// It knows nothing of packets. A row of beats.hex: 16 bits with the cycles to wait before, 1 bit with tlast, tdata.
module driver #(parameter AXI = 64, parameter N = 1);
    reg [AXI + 16:0] beats [0:N - 1];
    reg aclk = 0, core_clk = 0, aresetn = 0, ready = 0, write = 0, read = 0, going = 0;
    reg [AXI + 16:0] now;
    reg [7:0] address = 0;
    reg [31:0] wdata = 0;
    wire in_ready, m_valid, m_last, written, got;
    wire [AXI - 1:0] m_data;
    wire [31:0] rdata;
    integer at = 0, gap = 0, idle = 0, cycle = 0, stalled_in = 0, stalled_out = 0, file, share, timeout, stall, bus, core;
    integer seed = 1, k;
    wire valid = going && at < N && gap == 0;
    rig_axi #(.AXI(AXI)) dut (
        .aclk(aclk), .aresetn(aresetn), CORE .s_axis_tdata(now[AXI - 1:0]), .s_axis_tlast(now[AXI]), .s_axis_tvalid(valid),
        .s_axis_tready(in_ready), .m_axis_tdata(m_data), .m_axis_tvalid(m_valid), .m_axis_tready(ready),
        .m_axis_tlast(m_last), .s_axil_awaddr(address), .s_axil_awvalid(write), .s_axil_awready(), .s_axil_wdata(wdata),
        .s_axil_wstrb(4'hf), .s_axil_wvalid(write), .s_axil_wready(), .s_axil_bresp(), .s_axil_bvalid(written),
        .s_axil_bready(1'b1), .s_axil_araddr(address), .s_axil_arvalid(read), .s_axil_arready(), .s_axil_rdata(rdata),
        .s_axil_rresp(), .s_axil_rvalid(got), .s_axil_rready(1'b1));

    always #(bus) aclk = ~aclk;
    always #(core) core_clk = ~core_clk;

    task access(input [7:0] where, input writes, input [31:0] value);
        begin
            @(negedge aclk) address = where;
            wdata = value;
            write = writes;
            read = !writes;
            @(negedge aclk) write = 0;
            read = 0;
            while (!(writes ? written : got)) @(negedge aclk);
        end
    endtask

    initial begin
        k = $value$plusargs("share=%d", share) + $value$plusargs("timeout=%d", timeout) + $value$plusargs("stall=%d", stall)
            + $value$plusargs("bus=%d", bus) + $value$plusargs("core=%d", core);
        $readmemh("beats.hex", beats);
        file = $fopen("beats.out");
        now = beats[0];
        repeat (4) @(negedge aclk);
        aresetn = 1;
        repeat (100) @(negedge aclk);
        access(8'h38, 1, share);
        access(8'h3c, 1, timeout);
        going = 1;
        while (idle < 2000 + timeout) @(negedge aclk);
        going = 0;
        for (k = 0; k < 64; k = k + 4) begin
            access(k, 0, 0);
            $fdisplay(file, "register %0d %0d", k, rdata);
        end
        $fdisplay(file, "stalled %0d %0d", stalled_in, stalled_out);
        $finish;
    end

    // inputs change at the falling edge
    reg takes = 0;
    always @(negedge aclk) begin
        if (takes) begin
            at = at + 1;
            if (at < N) now = beats[at];
            if (at < N) gap = now[AXI + 16:AXI + 1];
        end else if (gap > 0) gap = gap - 1;
        ready = going && $unsigned($random(seed)) % 100 >= stall;
    end
    always @(posedge aclk) begin
        takes = valid && in_ready;
        cycle = cycle + 1;
        idle = takes || m_valid || !going ? 0 : idle + 1;
        stalled_in = stalled_in + (valid && !in_ready);
        stalled_out = stalled_out + (going && m_valid && !ready);
        if (m_valid && ready) $fdisplay(file, "%0d %b %h", cycle, m_last, m_data);
    end
endmodule
