// Assertions of one lane of a queue, bound in by the test: words leave as they came, none lost, doubled or reordered.
// One word is watched: the one pushed when `mark` is high for the first time. `ahead` words leave before it.
module lane_formal #(parameter W = 2, parameter DEPTH = 4, parameter BITS = 2) (
    input clock, input reset, input mark,
    input push, input [W-1:0] in_data, input pop, input ready, input valid, input [W-1:0] out_data,
    input [BITS-1:0] head, input [BITS-1:0] tail, input [BITS:0] count, input [BITS:0] stored,
    input waits, input fetched, input [W-1:0] word, output [BITS-1:0] place, input [W-1:0] cell
);
    localparam PLACES = DEPTH - 1;
    reg started = 0;
    reg watching, gone;
    reg [BITS:0] ahead, words;
    reg [W-1:0] watched;
    wire [BITS+1:0] before = {1'b0, valid} + fetched;
    wire [BITS+1:0] at = head + ahead - before;
    wire [BITS+1:0] last = head + stored;
    assign place = at >= PLACES ? at - PLACES : at;
    always @* if (started && !reset) begin
        assume (!push || ready);
        assume (!pop || valid);
    end
    always @(posedge clock) begin
        if (reset) begin
            started <= 1;
            watching <= 0;
            gone <= 0;
            words <= 0;
        end else if (started) begin
            words <= words + push - pop;
            if (mark && push && !watching && !gone) begin
                watching <= 1;
                watched <= in_data;
                ahead <= words - pop;
            end else if (watching && pop) begin
                ahead <= ahead - 1;
                if (ahead == 0) begin
                    watching <= 0;
                    gone <= 1;
                end
            end
        end
    end
    always @* if (started && !reset) begin
        assert (words <= DEPTH);
        assert (ready == (words != DEPTH));
        assert (!valid || words != 0);
        if (watching) assert (ahead < words);
        if (watching && valid && ahead == 0) assert (out_data == watched);
    end
    // What makes the above inductive: where the words are.
    always @* if (started && !reset) begin
        assert (count == words && words == stored + before);
        assert (waits == (stored != 0));
        assert (stored <= PLACES && head < PLACES && tail < PLACES);
        assert (tail == (last >= PLACES ? last - PLACES : last));
        if (watching && ahead >= before) assert (cell == watched);
        if (watching && fetched && ahead == valid) assert (word == watched);
    end
endmodule
