// What a queue does, by the shortest text; that `fx_queue` does it too is proven apart. `spills`: a full one gets a word,
// or a word is taken from an empty one.
module fx_queue #(parameter W = 32, parameter DEPTH = 2, parameter BITS = 1) (
    input clock, input reset,
    input push, output ready, input [W-1:0] in_data,
    output valid, input pop, output [W-1:0] out_data, output next
);
    reg [1:0] count;
    reg [W-1:0] first, second;
    wire spills = (push & ~ready) | (pop & ~valid);
    wire [1:0] left = count + push - pop;
    assign valid = count != 0, ready = count != 2, out_data = first, next = left != 0;
    always @(posedge clock) begin
        count <= reset ? 0 : left;
        if (pop | count == 0) first <= count == 2 ? second : in_data;
        if (push) second <= in_data;
    end
endmodule

// Credits in the fewest lines: what test_formal.py proves of the real ones by induction.
module fx_credits #(parameter DEPTH = 2, parameter BITS = 1) (
    input clock, input reset, input take, input give, output free
);
    reg [BITS:0] taken;
    assign free = taken != DEPTH;
    always @(posedge clock) taken <= reset ? 0 : taken + take - give;
endmodule
