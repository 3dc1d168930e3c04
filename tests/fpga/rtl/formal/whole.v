// Tasks of two functions, F and OTHER, enter the accelerator `top`, in any order and at any time. Tags of F's tasks are
// 0, then 1 once, then 2. WHAT chooses the property that `bad` says is broken:
// 0 order: F's results leave with these tags in this order, the 1 once; so none is lost, doubled or overtaken.
// 1 credits: a credit is taken for each word that is in a queue or on its way there, no full queue is given a word, and
// none is taken from an empty one.
// 2 progress: while results are taken, no four cycles pass in which tasks are inside and nothing moves.
// 3 none: the 1 never leaves; so that it is seen that it can.
module whole #(parameter CODE = 4, parameter DATA = 1, parameter [CODE-1:0] F = 0, parameter [CODE-1:0] OTHER = 1,
    parameter WHAT = 0
) (
    input clock, input in_valid, input other, input mark, input out_ready, output bad
);
    reg started = 0, sent = 0, seen = 0;
    reg [1:0] still = 0;
    wire reset = ~started;
    wire [CODE-1:0] in_function = other ? OTHER : F;
    wire [1:0] tag = other ? 2'd0 : sent ? 2'd2 : {1'b0, mark};
    wire in_ready, out_valid;
    wire [CODE-1:0] out_function;
    wire [15:0] out_tag;
    top dut (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_ready(in_ready), .in_function(in_function),
        .in_tag({14'b0, tag}), .in_data({DATA{1'b0}}), .out_valid(out_valid), .out_ready(out_ready),
        .out_function(out_function), .out_tag(out_tag)
    );
    wire leaves = ~reset & out_valid & out_ready & out_function == F;
    wire disorder = leaves & (out_tag[1:0] == 2 ? ~seen : seen);
    SEEN
    always @(posedge clock) begin
        started <= 1;
        sent <= sent | (in_valid & in_ready & tag == 1);
        seen <= seen | (leaves & out_tag[1:0] == 1);
        still <= reset | moves | ~inside | ~out_ready ? 0 : still == 3 ? 3 : still + 1;
    end
    assign bad = WHAT == 0 ? disorder : WHAT == 1 ? ~reset & ~counted : WHAT == 2 ? still == 3 : seen;
endmodule
