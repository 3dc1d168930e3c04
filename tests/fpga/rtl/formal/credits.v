// Assertions of credits, bound in by the test: never more tasks inside than entries, and a credit comes back for each
// that leaves. Whoever takes one sees it free; whoever gives one back has taken it.
module credits_formal #(parameter DEPTH = 4, parameter BITS = 2) (
    input clock, input reset, input take, input give, input free, input [BITS:0] taken
);
    reg started = 0;
    reg [31:0] inside;
    always @* if (started && !reset) begin
        assume (!take || free);
        assume (!give || inside != 0);
    end
    always @(posedge clock) begin
        if (reset) begin
            started <= 1;
            inside <= 0;
        end else if (started) inside <= inside + take - give;
    end
    always @* if (started && !reset) begin
        assert (inside <= DEPTH);
        assert (free == (inside != DEPTH));
        assert (taken == inside);
    end
endmodule
