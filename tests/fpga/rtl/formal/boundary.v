// A host sends packets of a function F of SENT beats and packets of code OTHER of OTHER_SENT, in any order, with any
// pauses, and takes results when it likes. A transfer ends behind any packets it likes, and behind each of OTHER if WRONG:
// 1 they have too few beats, 2 an unknown code. Tags of F's tasks are 0, then 1 once, then 2.
// WHAT chooses the property that `bad` says is broken:
// 0 order: F's results leave with these tags in this order, the 1 once; so none is lost, doubled or overtaken.
// 1 transfers: results have BACK beats of F, OTHER_BACK of OTHER. MOST of them are a transfer, and its last beat is
// marked; if LATE, a transfer may have fewer, which a time-out of 2 cycles ends.
// 2 AXI: a beat that is offered stays as it is until it is taken, whatever is written into the registers and when.
// 3 none: the 1 never leaves; so that it is seen that it can.
// 4 progress: while results are taken and a packet is not answered, no 16 cycles pass without a beat out.
// 5 reset: it never comes inside a transfer of results.
// 6 prompt: while results are taken, no 16 cycles pass between its being asked for and a reset.
module whole #(parameter AXI = 32, parameter [7:0] F = 0, parameter [7:0] OTHER = 1, parameter SENT = 2,
    parameter OTHER_SENT = 2, parameter WRONG = 0, parameter BACK = 2, parameter OTHER_BACK = 2, parameter MOST = 1,
    parameter LATE = 0, parameter WHAT = 0
) (
    input clock, input go, input other, input mark, input cut, input ready, input ask, input [1:0] most,
    input [1:0] timeout, output bad
);
    reg started = 0, valid = 0, now_other = 0, was_other = 0, sent = 0, seen = 0, waits = 0, ends = 0, half = 0;
    reg [1:0] tag;
    reg [7:0] place = 0, back = 0, group = 0, open = 0;
    reg [3:0] still = 0, pending = 0;
    reg [AXI:0] held;
    wire in_ready, out_valid, out_last;
    wire [AXI-1:0] out_data;
    // the host's side
    wire [7:0] beats = now_other ? OTHER_SENT : SENT;
    wire last = place + 1 == beats;
    reg [31:0] head;
    always @* begin
        head = 0;
        head`FUNCTION` = now_other ? OTHER : F;
        head`TAG` = tag;
    end
    wire takes = valid & in_ready;
    wire [31:0] settings = WHAT == 2 | WHAT == 5 ? {14'b0, timeout, 14'b0, most}
        : {LATE ? 16'd2 : 16'hffff, MOST[15:0]};
    wire starts = started & go & (takes ? last : ~valid & place == 0);
    top_axi dut (
        .aclk(clock), .aresetn(started), .s_axis_tdata({{(AXI-32){1'b0}}, place == 0 ? head : 32'b0}),
        .s_axis_tvalid(valid), .s_axis_tready(in_ready), .s_axis_tlast(last & ends), .m_axis_tdata(out_data),
        .m_axis_tvalid(out_valid), .m_axis_tready(ready), .m_axis_tlast(out_last),
        .s_axil_awaddr(8'b0), .s_axil_awvalid(ask & (WHAT == 2 | WHAT > 4)), .s_axil_wdata(settings),
        .s_axil_wstrb(4'b0),
        .s_axil_wvalid(1'b0), .s_axil_bready(1'b1), .s_axil_araddr(8'b0), .s_axil_arvalid(1'b0), .s_axil_rready(1'b1)
    );
    // results
    wire leaves = out_valid & ready;
    wire is_f = back == 0 ? out_data`FUNCTION` == F & ~out_data`ERROR` & ~out_data`MALFORMED` : ~was_other;
    wire marks = leaves & back == 0 & is_f;
    wire [15:0] out_tag = out_data`TAG`;
    wire disorder = marks & (out_tag == 2 ? ~seen : seen);
    wire whole = back + 1 == (is_f ? BACK : OTHER_BACK);
    wire torn = leaves & (whole ? (group + 1 == MOST ? ~out_last : out_last & ~LATE) : out_last);
    wire asks = takes & (now_other & WRONG == 2 ? place == 0 : last);
    (* hierconn *) wire \dut.resetting , \dut.asked ;
    wire moved = waits & ~(out_valid & {out_last, out_data} == held);
    always @(posedge clock) begin
        started <= 1;
        valid <= started & ((valid & ~in_ready) | go);
        if (takes) place <= last ? 0 : place + 1;
        if (starts) begin
            now_other <= other;
            tag <= other ? 0 : sent ? 2 : mark;
            ends <= cut | (other & WRONG != 0);
            sent <= sent | (~other & mark);
        end
        if (leaves) back <= whole ? 0 : back + 1;
        if (leaves & whole) group <= out_last ? 0 : group + 1;
        open <= open + asks - (leaves & whole);
        still <= ~ready | leaves | open == 0 ? 0 : still + (still != 15);
        pending <= ready & \dut.asked & ~\dut.resetting ? pending + (pending != 15) : 0;
        half <= leaves ? ~out_last : half;
        was_other <= ~is_f;
        seen <= seen | (marks & out_tag == 1);
        waits <= out_valid & ~ready;
        held <= {out_last, out_data};
    end
    assign bad = started & (WHAT == 0 ? disorder : WHAT == 1 ? torn : WHAT == 2 ? moved : WHAT == 4 ? still == 15
        : WHAT == 5 ? half & \dut.resetting : WHAT == 6 ? pending == 15 : seen);
endmodule

// The accelerator as a queue.
module top #(parameter RETURNED = 1, parameter CODE = 1, parameter IN = 1, parameter OUT = 1) (
    input clock, input reset, input in_valid, output in_ready, input [CODE-1:0] in_function,
    input [RETURNED-1:0] in_tag, input [IN-1:0] in_data, output out_valid, input out_ready, output [CODE-1:0] out_function,
    output [RETURNED-1:0] out_tag, output out_flag, output out_error, output [OUT-1:0] out_data
);
    assign {out_flag, out_error, out_data} = 0;
    fx_fifo #(CODE + RETURNED, 2, 1) tasks (.clock(clock), .reset(reset), .in_valid(in_valid & in_ready), .in_ready(in_ready),
        .in_data({in_function, in_tag}), .out_valid(out_valid), .out_ready(out_ready),
        .out_data({out_function, out_tag}));
endmodule

// The registers: a reset may be asked for at any time, and is short; wdata is what is in the others.
module fx_registers #(
    parameter magic = 0, parameter version = 0, parameter fingerprint = 0, parameter shape = 0, parameter stream = 0
) (
    input clock, input resetn, input [7:0] awaddr, input awvalid, output awready, input [31:0] wdata,
    input [3:0] wstrb, input wvalid, output wready, output [1:0] bresp, output bvalid, input bready,
    input [7:0] araddr, input arvalid, output arready, output [31:0] rdata, output [1:0] rresp, output rvalid,
    input rready, output reg asked, output reg resetting, input closed, input done, input waits_in,
    input waits_out, input task_in, input result_out, input flag, input error, input cut,
    output [31:0] results_per_last, output [31:0] timeout
);
    assign results_per_last = {16'b0, wdata[15:0]}, timeout = {16'b0, wdata[31:16]};
    assign {awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid} = 0;
    always @(posedge clock) begin
        asked <= resetn & (awvalid | (asked & ~closed));
        resetting <= ~resetn | (asked & closed) | (resetting & ~done);
    end
endmodule
