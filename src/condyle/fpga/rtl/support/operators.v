`timescale 1ns/1ps
// One module for each operator. Every product and every sum has an output register. No operator ever stalls.

// Two factors and their product, each with a register. fx_ecp5.v has a module of the same name for an ECP5.
`ifndef FX_MULTIPLIER
module fx_multiplier #(parameter WA = 18, parameter WB = 18) (
    input clock, input signed [WA-1:0] a, input signed [WB-1:0] b, output reg signed [WA+WB-1:0] p
);
    reg signed [WA-1:0] x;
    reg signed [WB-1:0] y;
    always @(posedge clock) begin
        x <= a;
        y <= b;
        p <= x * y;
    end
endmodule
`endif

// The product of one DSP: an output register, and N more before it: first those of the operands, then that of the
// multiplier. If N is 2 and the device has 18 x 18 multipliers, a wider product is cut into two partial products.
module fx_product #(parameter WA = 27, parameter WB = 18, parameter N = 0) (
    input clock,
    input signed [WA-1:0] a, input signed [WB-1:0] b,
    output signed [WA+WB-1:0] p
);
    generate
        if (N == 1) begin : operands
            fx_multiplier #(WA, WB) product (.clock(clock), .a(a), .b(b), .p(p));
        end else begin : last
            reg signed [WA+WB-1:0] sum;
            assign p = sum;
            if (N == 0) begin : one
                always @(posedge clock) sum <= a * b;
            end else if (WA <= `FX_FACTOR && WB <= `FX_FACTOR || `FX_FACTOR > 18) begin : whole
                wire signed [WA+WB-1:0] m;
                fx_multiplier #(WA, WB) product (.clock(clock), .a(a), .b(b), .p(m));
                always @(posedge clock) sum <= m;
            end else if (WA > 18) begin : cut
                wire signed [WA+WB-18:0] upper;
                wire signed [WB+17:0] lower;
                fx_multiplier #(WA - 17, WB) high (.clock(clock), .a(a[WA-1:17]), .b(b), .p(upper));
                fx_multiplier #(18, WB) low (.clock(clock), .a({1'b0, a[16:0]}), .b(b), .p(lower));
                always @(posedge clock) sum <= $signed({upper, 17'b0}) + lower;
            end else begin : cut
                wire signed [WA+WB-18:0] upper;
                wire signed [WA+17:0] lower;
                fx_multiplier #(WA, WB - 17) high (.clock(clock), .a(a), .b(b[WB-1:17]), .p(upper));
                fx_multiplier #(WA, 18) low (.clock(clock), .a(a), .b({1'b0, b[16:0]}), .p(lower));
                always @(posedge clock) sum <= $signed({upper, 17'b0}) + lower;
            end
        end
    endgenerate
endmodule

// A delay line: the word of N cycles ago.
module fx_later #(parameter W = 27, parameter N = 0) (input clock, input [W-1:0] x, output [W-1:0] y);
    generate
        if (N == 0) begin : now
            assign y = x;
        end else begin : line
            reg [N*W-1:0] words;
            wire [(N+1)*W-1:0] longer = {words, x};
            always @(posedge clock) words <= longer[N*W-1:0];
            assign y = words[N*W-1:(N-1)*W];
        end
    endgenerate
endmodule

// y = p / 2^R (p * 2^-R for a negative R), lower bits dropped, clamped to W bits. Combinational.
module fx_fit #(parameter WP = 45, parameter R = 18, parameter W = 27) (
    input signed [WP-1:0] p, output signed [W-1:0] y, output over
);
    localparam L = R < 0 ? -R : 0;
    localparam S = R < 0 ? 0 : R;
    localparam X = (WP + L > W ? WP + L : W) + 1;
    reg signed [X-1:0] x;
    reg signed [W-1:0] r;
    reg o;
    always @(p) begin
        x = {{(X-WP){p[WP-1]}}, p};
        x = (x <<< L) >>> S;
        o = x[X-1:W-1] != {(X-W+1){x[X-1]}};
        r = o ? {x[X-1], {(W-1){~x[X-1]}}} : x[W-1:0];
    end
    assign y = r;
    assign over = o;
endmodule

// A sum that folded branches share: a + b (sign 0), a - b (1) or b - a (2), X bits, clamped to W bits. Combinational.
module fx_add_in_turns #(parameter X = 27, parameter W = 27) (
    input [1:0] sign, input signed [X-1:0] a, input signed [X-1:0] b, output signed [W-1:0] y, output over
);
    localparam Z = (X > W ? X : W) + 2;
    reg signed [X:0] p, q, x;
    reg signed [Z-1:0] z;
    reg signed [W-1:0] r;
    reg o;
    always @(sign, a, b) begin
        p = sign[1] ? {b[X-1], b} : {a[X-1], a};
        q = sign[1] ? {a[X-1], a} : {b[X-1], b};
        x = sign != 0 ? p - q : p + q;
        z = {{(Z-X-1){x[X]}}, x};
        o = z[Z-1:W-1] != {(Z-W+1){z[Z-1]}};
        r = o ? {z[Z-1], {(W-1){~z[Z-1]}}} : z[W-1:0];
    end
    assign y = r;
    assign over = o;
endmodule

// Sine and cosine of an angle of W bits, F of them behind the binary point. It takes 5 cycles, and 2 N more: two
// products follow one another, with N registers more each. A word of more than 27 bits is cut first; at least 6 bits
// before the point stay. C: further registers behind the table, and of the sums before they are clamped.
module fx_sincos #(parameter W = 27, parameter F = 23, parameter N = 0, parameter C = 0) (
    input clock, input signed [W-1:0] a,
    output signed [17:0] s, output signed [17:0] c
);
    localparam CUT = W <= 27 || F <= 21 ? 0 : F - 21 < W - 27 ? F - 21 : W - 27;
    localparam R = F - CUT + 12;
    localparam RH = R - 17;
    localparam L = RH < 0 ? -RH : 0;
    localparam S = RH < 0 ? 0 : RH;
    localparam signed [17:0] HIGH = 18'd`FX_TURN_HIGH;
    localparam signed [17:0] LOW = 18'd`FX_TURN_LOW;
    wire signed [26:0] x = a >>> CUT;
    wire signed [44:0] ph, pl;
    fx_product #(27, 18, N) high (.clock(clock), .a(x), .b(HIGH), .p(ph));
    fx_product #(27, 18, N) low (.clock(clock), .a(x), .b(LOW), .p(pl));
    wire signed [61:0] wide = {{17{ph[44]}}, ph};
    wire signed [61:0] th = (wide <<< L) >>> S;
    wire signed [44:0] tl = pl >>> R;
    reg [23:0] turn;
    reg signed [14:0] d;
    reg [77:0] read;
    reg signed [20:0] s0, c0;
    reg [77:0] rom [0:1023];
    initial begin
`FX_SINCOS
    end
    wire [77:0] row;
    wire [77:36] row_later;
    wire signed [14:0] d_later;
    fx_later #(93, C) table_read (.clock(clock), .x({read, d}), .y({row, d_later}));
    fx_later #(42, N) later (.clock(clock), .x(row[77:36]), .y(row_later));
    wire signed [32:0] ps, pc;
    fx_product #(15, 18, N) sine (.clock(clock), .a(d_later), .b(row[35:18]), .p(ps));
    fx_product #(15, 18, N) cosine (.clock(clock), .a(d_later), .b(row[17:0]), .p(pc));
    always @(posedge clock) begin
        turn <= th[23:0] + tl[23:0];
        read <= rom[turn[23:14]];
        d <= $signed({1'b0, turn[13:0]}) - 15'sd8192;
        s0 <= row_later[77:57];
        c0 <= row_later[56:36];
    end
    wire [21:0] sine_sum = {s0[20], s0} + {{8{ps[32]}}, ps[32:19]};
    wire [21:0] cosine_sum = {c0[20], c0} - {{8{pc[32]}}, pc[32:19]};
    wire signed [21:0] ss, cc;
    fx_later #(44, C) sums (.clock(clock), .x({sine_sum, cosine_sum}), .y({ss, cc}));
    wire signed [19:0] sq = ss[21:2];
    wire signed [19:0] cq = cc[21:2];
    assign s = sq > 20'sd131071 ? 18'sd131071 : sq < -20'sd131071 ? -18'sd131071 : sq[17:0];
    assign c = cq > 20'sd131071 ? 18'sd131071 : cq < -20'sd131071 ? -18'sd131071 : cq[17:0];
endmodule

// The mantissa of 1 / a for a > 0: normalise, read the seed from the table, one Newton step. fx_denormal is the eighth
// cycle. Two products follow one another, with N registers more each. C: further registers behind the table.
module fx_reciprocal #(parameter W = 27, parameter N = 0, parameter C = 0) (
    input clock, input signed [W-1:0] a,
    output reg [27:0] r, output [4:0] place, output bad
);
    localparam CUT = W > 27 ? W - 27 : 0;
    wire signed [26:0] x = a >>> CUT;
    reg [4:0] first;
    integer i;
    always @* begin
        first = 0;
        for (i = 0; i < 27; i = i + 1) if (x[i]) first = i[4:0];
    end
    reg signed [26:0] x1, m2, m3;
    localparam CYCLES = 7 + 2 * N + C;
    reg [5*CYCLES-1:0] places;
    reg [CYCLES-1:0] bads;
    reg signed [17:0] y3, y4, y5, y6;
    reg signed [26:0] e5;
    reg [16:0] rom [0:1023];
    initial begin
`FX_RECIPROCAL
    end
    wire signed [44:0] p4, q6;
    wire signed [26:0] m;
    wire signed [17:0] y, y_later, y5_later;
    fx_later #(45, C) table_read (.clock(clock), .x({m3, y3}), .y({m, y}));
    fx_later #(18, N) seed (.clock(clock), .x(y), .y(y_later));
    fx_later #(18, N) step (.clock(clock), .x(y5), .y(y5_later));
    wire signed [17:0] q6s = q6[44:27];
    fx_product #(27, 18, N) check (.clock(clock), .a(m), .b(y), .p(p4));
    fx_product #(27, 18, N) refine (.clock(clock), .a(e5), .b(y5), .p(q6));
    always @(posedge clock) begin
        x1 <= x <= 0 ? 27'sd1 : x;
        places <= {places[5*(CYCLES-1)-1:0], x <= 0 ? 5'd0 : first};
        bads <= {bads[CYCLES-2:0], x <= 0};
        m2 <= x1 << (25 - places[4:0]);
        m3 <= m2;
        y3 <= {1'b0, rom[m2[24:15]]};
        y4 <= y_later;
        e5 <= -p4[32:6];
        y5 <= y4;
        y6 <= y5_later;
        r <= {1'b0, y6, 9'b0} + {{10{q6s[17]}}, q6s};
    end
    assign place = places[5*CYCLES-1:5*(CYCLES-1)];
    assign bad = bads[CYCLES-1];
endmodule

// 1 / a from the mantissa of fx_reciprocal, shifted right by C + place (-32 or more) and clamped to W bits.
// N: registers before the shift, and as many before the clamp.
module fx_denormal #(parameter signed [8:0] C = 0, parameter W = 27, parameter N = 0) (
    input clock, input [27:0] r, input [4:0] place, input bad, output signed [W-1:0] y, output over
);
    wire signed [9:0] sum = C + 10'sd32 + $signed({5'b0, place});
    wire [6:0] right;
    wire [27:0] mantissa;
    wire wrong, is_wrong;
    fx_later #(36, N) early (.clock(clock), .x({sum < 0 ? 7'd0 : sum[6:0], r, bad}), .y({right, mantissa, wrong}));
    wire [95:0] shifted = {36'b0, mantissa, 32'b0} >> right;
    wire [63:0] x;
    fx_later #(65, N) late (.clock(clock), .x({shifted[63:0], wrong}), .y({x, is_wrong}));
    wire fits = ~(|x[63:W-1]);
    assign over = is_wrong | ~fits;
    assign y = over ? {1'b0, {(W-1){1'b1}}} : x[W-1:0];
endmodule

// Whether |x| > LARGEST.
module fx_outside #(parameter W = 27, parameter LARGEST = 1) (input signed [W-1:0] x, output far);
    assign far = x > LARGEST || x < -LARGEST;
endmodule

// One of several copies of a control register. Each copy drives a part of the loads; tools must not merge them.
(* keep_hierarchy = "yes" *)
module fx_copy #(parameter W = 1) (input clock, input [W-1:0] next, output [W-1:0] now);
    (* keep = "true" *) reg [W-1:0] value;
    always @(posedge clock) value <= next;
    assign now = value;
endmodule

// The enable of a lane's memory (IDLE 0) or of its output register (IDLE 1, which loads while it has no word), kept apart
// from other logic. Otherwise `push` and `pop` would have as many loads as a word has bits.
(* keep_hierarchy = "yes" *)
module fx_enable #(parameter IDLE = 0) (input state, input go, output enable);
    assign enable = IDLE != 0 ? ~state | go : state & go;
endmodule

// A queue of DEPTH words. A word is pushed only if `ready` is high, and popped only if `valid` is high. These are
// registers, so no combinational path goes through a queue. `next` is `valid` of the next cycle. A wide word is cut into
// lanes of at most 512 bits, each with its own control.
module fx_queue #(parameter W = 32, parameter DEPTH = 4, parameter BITS = 2) (
    input clock, input reset,
    input push, output ready, input [W-1:0] in_data,
    output valid, input pop, output [W-1:0] out_data, output next
);
    localparam LANES = (W + 511) / 512;
    localparam LANE = (W + LANES - 1) / LANES;
    wire [LANES-1:0] readies, valids, nexts;
    genvar k;
    generate
        for (k = 0; k < LANES; k = k + 1) begin : lane
            localparam WIDTH = k == LANES - 1 ? W - k * LANE : LANE;
            fx_lane #(WIDTH, DEPTH, BITS) queue (
                .clock(clock), .reset(reset), .push(push), .in_data(in_data[k*LANE +: WIDTH]), .pop(pop),
                .ready(readies[k]), .valid(valids[k]), .next(nexts[k]), .out_data(out_data[k*LANE +: WIDTH])
            );
        end
    endgenerate
    assign ready = readies[0];
    assign valid = valids[0];
    assign next = nexts[0];
endmodule

// A queue with a handshake at both ends.
module fx_fifo #(parameter W = 32, parameter DEPTH = 4, parameter BITS = 2) (
    input clock, input reset,
    input in_valid, output in_ready, input [W-1:0] in_data,
    output out_valid, input out_ready, output [W-1:0] out_data, output next
);
    fx_queue #(W, DEPTH, BITS) words (
        .clock(clock), .reset(reset), .push(in_valid & in_ready), .ready(in_ready), .in_data(in_data),
        .valid(out_valid), .pop(out_ready & out_valid), .out_data(out_data), .next(next)
    );
endmodule

// A lane of a queue: a memory and an output register. A word bypasses the memory when it is empty. A deep memory is
// block RAM, read one cycle ahead. There a waiting word may come one cycle later than the word before it left. A word that
// bypasses the memory is written too, for a shorter path, but `tail` stays: the next word is written over it.
(* keep_hierarchy = "yes" *)
module fx_lane #(parameter W = 32, parameter DEPTH = 4, parameter BITS = 2) (
    input clock, input reset, input push, input [W-1:0] in_data, input pop,
    output reg ready, output reg valid, output next, output reg [W-1:0] out_data
);
    localparam PLACES = DEPTH - 1;
    localparam [31:0] LAST = PLACES - 1;
    localparam DEEP = DEPTH > 33;
    reg [BITS-1:0] head, tail;
    reg [BITS:0] count, stored;
    reg waits;
    wire moves = ~valid | pop;
    wire loads, keeps, some, reads;
    wire [W-1:0] first;
    wire direct = moves & ~some & ~waits;
    wire writes = push & ~direct;
    fx_enable #(0) memory_enable (.state(ready), .go(push), .enable(keeps));
    fx_enable #(1) output_enable (.state(valid), .go(pop), .enable(loads));
    assign next = ~moves | some | (direct & push);
    generate
        if (DEEP) begin : deep
            (* ram_style = "block" *) reg [W-1:0] memory [0:PLACES-1];
            reg [W-1:0] word;
            reg fetched;
            assign some = fetched;
            assign reads = waits & (~fetched | moves);
            assign first = word;
            always @(posedge clock) begin
                if (keeps) memory[tail] <= in_data;
                if (reads) word <= memory[head];
                fetched <= ~reset & (reads | (fetched & ~moves));
            end
        end else begin : shallow
            reg [W-1:0] memory [0:PLACES-1];
            assign some = waits;
            assign reads = waits & moves;
            assign first = memory[head];
            always @(posedge clock) if (keeps) memory[tail] <= in_data;
        end
    endgenerate
    always @(posedge clock) begin
        if (loads) out_data <= some ? first : in_data;
        if (reset) begin
            head <= 0;
            tail <= 0;
            count <= 0;
            stored <= 0;
            waits <= 1'b0;
            ready <= 1'b1;
            valid <= 1'b0;
        end else begin
            if (writes) tail <= {{(32-BITS){1'b0}}, tail} == LAST ? 0 : tail + 1'b1;
            if (reads) head <= {{(32-BITS){1'b0}}, head} == LAST ? 0 : head + 1'b1;
            if (push != pop) count <= push ? count + 1'b1 : count - 1'b1;
            if (writes != reads) stored <= writes ? stored + 1'b1 : stored - 1'b1;
            waits <= waits ? writes | ~reads | stored != 1 : writes;
            ready <= ready ? ~push | pop | count != DEPTH - 1 : pop;
            valid <= next;
        end
    end
endmodule

// Credits of a FIFO, one for each entry. A task takes one before it starts and returns it when its word leaves.
module fx_credits #(parameter DEPTH = 4, parameter BITS = 2) (
    input clock, input reset, input take, input give, output reg free
);
    reg [BITS:0] taken;
    always @(posedge clock) begin
        if (reset) begin
            taken <= 0;
            free <= 1'b1;
        end else begin
            if (take != give) taken <= take ? taken + 1'b1 : taken - 1'b1;
            free <= free ? ~take | give | taken != DEPTH - 1 : give;
        end
    end
endmodule
