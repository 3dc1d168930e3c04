// A host sends packets of a function F of SENT beats and packets of code OTHER of OTHER_SENT, in any order, with any
// pauses, and takes results when it likes. Tags of F's tasks are 0, then 1 once, then 2.
// WHAT chooses the property that `bad` says is broken:
// 0 order: F's results leave with these tags in this order, the 1 once; so none is lost, doubled or overtaken.
// 1 packets: the last beat of a result is marked, and no other: BACK beats of F, OTHER_BACK of OTHER.
// 2 AXI: a beat that is offered stays as it is until it is taken, whenever a reset is asked for.
// 3 none: the 1 never leaves; so that it is seen that it can.
module whole #(parameter AXI = 32, parameter [7:0] F = 0, parameter [7:0] OTHER = 1, parameter SENT = 2,
    parameter OTHER_SENT = 2, parameter BACK = 2, parameter OTHER_BACK = 2, parameter WHAT = 0
) (
    input clock, input go, input other, input mark, input ready, input ask, output bad
);
    reg started = 0, valid = 0, now_other = 0, was_other = 0, sent = 0, seen = 0, waits = 0;
    reg [1:0] tag;
    reg [7:0] place = 0, back = 0;
    reg [AXI:0] held;
    wire in_ready, out_valid, out_last;
    wire [AXI-1:0] out_data;
    // the host's side
    wire [7:0] beats = now_other ? OTHER_SENT : SENT;
    wire last = place + 1 == beats;
    wire [31:0] head = {14'b0, tag, 8'b0, now_other ? OTHER : F};
    wire takes = valid & in_ready;
    wire starts = started & go & (takes ? last : ~valid & place == 0);
    top_axi dut (
        .aclk(clock), .aresetn(started), .s_axis_tdata({{(AXI-32){1'b0}}, place == 0 ? head : 32'b0}),
        .s_axis_tvalid(valid), .s_axis_tready(in_ready), .s_axis_tlast(last), .m_axis_tdata(out_data),
        .m_axis_tvalid(out_valid), .m_axis_tready(ready), .m_axis_tlast(out_last),
        .s_axil_awaddr(8'b0), .s_axil_awvalid(ask & WHAT == 2), .s_axil_wdata(32'b0), .s_axil_wstrb(4'b0),
        .s_axil_wvalid(1'b0), .s_axil_bready(1'b1), .s_axil_araddr(8'b0), .s_axil_arvalid(1'b0), .s_axil_rready(1'b1)
    );
    // results
    wire leaves = out_valid & ready;
    wire is_f = back == 0 ? out_data[7:0] == F & out_data[10:9] == 0 : ~was_other;
    wire marks = leaves & back == 0 & is_f;
    wire disorder = marks & (out_data[17:16] == 2 ? ~seen : seen);
    wire torn = leaves & out_last != (back + 1 == (is_f ? BACK : OTHER_BACK));
    wire moved = waits & ~(out_valid & {out_last, out_data} == held);
    always @(posedge clock) begin
        started <= 1;
        valid <= started & ((valid & ~in_ready) | go);
        if (takes) place <= last ? 0 : place + 1;
        if (starts) begin
            now_other <= other;
            tag <= other ? 0 : sent ? 2 : mark;
            sent <= sent | (~other & mark);
        end
        if (leaves) back <= out_last ? 0 : back + 1;
        was_other <= ~is_f;
        seen <= seen | (marks & out_data[17:16] == 1);
        waits <= out_valid & ~ready;
        held <= {out_last, out_data};
    end
    assign bad = started & (WHAT == 0 ? disorder : WHAT == 1 ? torn : WHAT == 2 ? moved : seen);
endmodule

// The accelerator as a queue.
module top #(parameter CODE = 1, parameter IN = 1, parameter OUT = 1) (
    input clock, input reset, input in_valid, output in_ready, input [CODE-1:0] in_function, input [15:0] in_tag,
    input [IN-1:0] in_data, output out_valid, input out_ready, output [CODE-1:0] out_function, output [15:0] out_tag,
    output out_flag, output out_error, output [OUT-1:0] out_data
);
    assign {out_flag, out_error, out_data} = 0;
    fx_fifo #(CODE + 16, 2, 1) tasks (.clock(clock), .reset(reset), .in_valid(in_valid & in_ready), .in_ready(in_ready),
        .in_data({in_function, in_tag}), .out_valid(out_valid), .out_ready(out_ready),
        .out_data({out_function, out_tag}));
endmodule

// The registers: a reset may be asked for at any time, and is short.
module fx_registers #(parameter FINGERPRINT = 0, parameter SHAPE = 0, parameter STREAM = 0) (
    input clock, input resetn, input [7:0] awaddr, input awvalid, output awready, input [31:0] wdata,
    input [3:0] wstrb, input wvalid, output wready, output [1:0] bresp, output bvalid, input bready,
    input [7:0] araddr, input arvalid, output arready, output [31:0] rdata, output [1:0] rresp, output rvalid,
    input rready, output reg asked, output reg resetting, input closed, input done, input stalled_in,
    input stalled_out, input task_in, input result_out, input flag, input error, input malformed
);
    assign {awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid} = 0;
    always @(posedge clock) begin
        asked <= resetn & (awvalid | (asked & ~closed));
        resetting <= ~resetn | (asked & closed) | (resetting & ~done);
    end
endmodule
