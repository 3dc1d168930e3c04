`timescale 1ns/1ps
// The modules of the AXI boundary NAME_axi, see README.md. Its FIFOs are in fx_operators.v.

// A pipeline register with handshake: it loads when it is empty or its word is taken. A wide word is cut into lanes of
// at most 512 bits, each with its own copy of the valid bit. `next` is the valid bit of the next cycle.
module fx_hold #(parameter W = 512) (
    input clock, input next, input ready, input [W-1:0] in_data, output reg [W-1:0] out_data
);
    localparam LANES = (W + 511) / 512;
    localparam LANE = (W + LANES - 1) / LANES;
    genvar k;
    generate
        for (k = 0; k < LANES; k = k + 1) begin : lane
            localparam WIDTH = k == LANES - 1 ? W - k * LANE : LANE;
            wire valid;
            fx_copy #(1) full (.clock(clock), .next(next), .now(valid));
            always @(posedge clock) if (~valid | ready) out_data[k*LANE +: WIDTH] <= in_data[k*LANE +: WIDTH];
        end
    endgenerate
endmodule

// A register that loads if `moves` and `here` are high. Each lane has one, so each makes its own enable.
(* keep_hierarchy = "yes" *)
module fx_beat #(parameter W = 512) (
    input clock, input moves, input here, input [W-1:0] in_data, output reg [W-1:0] out_data
);
    always @(posedge clock) if (moves & here) out_data <= in_data;
endmodule

// A FIFO between two clocks of any ratio: Gray-coded pointers, a synchroniser of two registers in each direction.
module fx_crossing #(parameter W = 32, parameter BITS = 4) (
    input in_clock, input in_reset, input in_valid, output in_ready, input [W-1:0] in_data,
    input out_clock, input out_reset, output reg out_valid, input out_ready, output [W-1:0] out_data
);
    reg [W-1:0] memory [0:(1<<BITS)-1];
    reg [BITS:0] head, tail, head_gray, tail_gray;
    (* ASYNC_REG = "TRUE" *) reg [BITS:0] head_1, head_2, tail_1, tail_2;
    wire [BITS:0] head_next = head + 1'b1, tail_next = tail + 1'b1;
    wire some = head_gray != tail_2;
    wire moves = ~out_valid | out_ready;
    wire next = ~out_reset & (some | ~moves);
    wire push = in_valid & in_ready;
    fx_hold #(W) leaves (.clock(out_clock), .next(next), .ready(out_ready), .in_data(memory[head[BITS-1:0]]),
        .out_data(out_data));
    assign in_ready = ~in_reset & tail_gray != {~head_2[BITS:BITS-1], head_2[BITS-2:0]};
    always @(posedge in_clock) begin
        if (push) memory[tail[BITS-1:0]] <= in_data;
        tail <= in_reset ? 0 : push ? tail_next : tail;
        tail_gray <= in_reset ? 0 : push ? tail_next ^ (tail_next >> 1) : tail_gray;
        head_1 <= in_reset ? 0 : head_gray;
        head_2 <= in_reset ? 0 : head_1;
    end
    always @(posedge out_clock) begin
        out_valid <= next;
        head <= out_reset ? 0 : some & moves ? head_next : head;
        head_gray <= out_reset ? 0 : some & moves ? head_next ^ (head_next >> 1) : head_gray;
        tail_1 <= out_reset ? 0 : tail_gray;
        tail_2 <= out_reset ? 0 : tail_1;
    end
endmodule

// Takes a reset over from another clock. That clock holds it until `done`: eight cycles of this clock in reset.
module fx_reset (input clock, input wanted, output reset, output done);
    (* ASYNC_REG = "TRUE" *) reg [1:0] chain;
    reg [7:0] held;
    assign reset = chain[1];
    assign done = held[7];
    always @(posedge clock) chain <= {chain[0], wanted};
    always @(posedge clock) held <= reset ? {held[6:0], 1'b1} : 8'b0;
endmodule

// The number of a beat in its packet (`place`), and the header of the packet.
module fx_marks (
    input clock, input reset, input moves, input last, input [31:0] word, output [31:0] head, output reg [15:0] place
);
    reg [31:0] kept;
    assign head = place == 0 ? word : kept;
    always @(posedge clock) begin
        if (moves) kept <= head;
        place <= reset ? 0 : ~moves ? place : last ? 0 : place == 16'hffff ? place : place + 1'b1;
    end
endmodule

// Collects the beats of a packet into one wide word. `beats`: how many the code of this header has, 0 if unknown.
module fx_gather #(parameter B = 512, parameter BEATS = 4) (
    input clock, input reset, input in_valid, output in_ready, input in_last, input [31:0] in_head,
    input [15:0] in_place, input [15:0] beats, input [B-1:0] in_data,
    output reg full, input taken, output reg [31:0] head, output [BEATS*B-1:0] data,
    output reg unknown, output reg malformed
);
    wire moves = in_valid & in_ready;
    assign in_ready = ~full | taken;
    localparam LANES = (B + 511) / 512;
    localparam LANE = B / LANES;
    genvar k, n;
    generate
        for (k = 0; k < BEATS; k = k + 1) begin : beat
            wire here = in_place == k;
            for (n = 0; n < LANES; n = n + 1) begin : lane
                fx_beat #(LANE) word (.clock(clock), .moves(moves), .here(here), .in_data(in_data[n*LANE +: LANE]),
                    .out_data(data[k*B+n*LANE +: LANE]));
            end
        end
    endgenerate
    always @(posedge clock) begin
        if (moves) begin
            head <= in_head;
            unknown <= beats == 0;
            malformed <= beats != 0 & {1'b0, beats} != {1'b0, in_place} + 1'b1;
        end
        full <= ~reset & (in_ready ? moves & in_last : full);
    end
endmodule

// Sends a wide word beat by beat; the word must stay until the last beat. `first`: the next beat is the first one.
module fx_spread #(parameter B = 512, parameter BEATS = 4) (
    input clock, input reset, input in_valid, output in_ready, input [15:0] in_beats, input [31:0] in_head,
    input [BEATS*B-1:0] in_data, output first,
    output reg out_valid, input out_ready, output reg out_last, output reg [31:0] head, output reg [15:0] place,
    output [B-1:0] out_data
);
    localparam LANES = (B + 511) / 512;
    localparam LANE = B / LANES;
    reg [15:0] number;
    reg [BEATS-1:0] turn;
    wire moves = ~out_valid | out_ready;
    wire ends = number == in_beats;
    wire next = ~reset & (in_valid | ~moves);
    wire [BEATS-1:0] next_turn = reset | (moves & in_valid & ends) ? 1 : moves & in_valid ? turn << 1 : turn;
    wire [B-1:0] beat;
    assign first = turn[0];
    assign in_ready = moves & ends;
    fx_hold #(B) leaves (.clock(clock), .next(next), .ready(out_ready), .in_data(beat), .out_data(out_data));
    genvar n;
    generate
        for (n = 0; n < LANES; n = n + 1) begin : lane
            wire [BEATS-1:0] mine;
            reg [LANE-1:0] one;
            integer k;
            fx_copy #(BEATS) turns (.clock(clock), .next(next_turn), .now(mine));
            always @* begin
                one = 0;
                for (k = 0; k < BEATS; k = k + 1) one = one | (in_data[k*B+n*LANE +: LANE] & {LANE{mine[k]}});
            end
            assign beat[n*LANE +: LANE] = one;
        end
    endgenerate
    always @(posedge clock) begin
        turn <= next_turn;
        number <= reset | (moves & in_valid & ends) ? 1 : number + {15'b0, moves & in_valid};
        out_valid <= next;
        if (moves) head <= in_head;
        if (moves) place <= number - 1'b1;
        if (moves) out_last <= ends;
    end
endmodule

// A single-precision number to an integer of W bits in units of 2^-frac: to nearest, halves to even, clamped. NaN
// becomes the least integer, which the accelerator flags like any word at the end of its format. Three cycles.
module fx_from_single #(parameter W = 27) (
    input clock, input moves, input signed [7:0] frac, input [31:0] x, output reg [W-1:0] y
);
    wire [7:0] exponent = x[30:23];
    wire signed [11:0] up = $signed({4'b0, exponent == 0 ? 8'd1 : exponent}) + {{4{frac[7]}}, frac} - 12'sd124;
    reg [2:0] sign;
    reg [1:0] none, far;
    reg [23:0] mantissa;
    reg [6:0] shift;
    reg [W+49:0] wide;
    wire more = wide[25] & (wide[26] | (|wide[24:0]));
    wire [W:0] size = {1'b0, wide[26 +: W]} + {{W{1'b0}}, more};
    wire over = far[1] | (|wide[W+49:W+26]) | (size[W:W-1] != 0 & ~(sign[1] & size == {2'b01, {(W-1){1'b0}}}));
    wire [W-1:0] least = {1'b1, {(W-1){1'b0}}};
    always @(posedge clock) if (moves) begin
        sign <= {1'b0, sign[0], x[31]};
        none <= {none[0], exponent == 8'hff & x[22:0] != 0};
        mantissa <= up < 0 ? 24'b0 : {exponent != 0, x[22:0]};
        far <= {far[0], exponent == 8'hff | (up > W + 26 & x[30:0] != 0)};
        shift <= up < 0 | up > W + 26 ? 7'd0 : up[6:0];
        wide <= {{(W+26){1'b0}}, mantissa} << shift;
        y <= none[1] ? least : over ? {sign[1], {(W-1){~sign[1]}}} : sign[1] ? -size[W-1:0] : size[W-1:0];
    end
endmodule

// An integer of W bits in units of 2^-frac to a single-precision number: to nearest, halves to even. Three cycles.
module fx_to_single #(parameter W = 27) (
    input clock, input moves, input signed [7:0] frac, input [W-1:0] x, output reg [31:0] y
);
    reg [1:0] sign;
    reg signed [7:0] point;
    reg [W-1:0] size, norm;
    reg [7:0] first, exponent;
    integer i;
    always @* begin
        first = 0;
        for (i = 0; i < W; i = i + 1) if (size[i]) first = i[7:0];
    end
    wire [W+24:0] wide = {norm, 25'b0};
    wire more = wide[W] & (wide[W+1] | (|wide[W-1:0]));
    wire [31:0] whole = {1'b0, exponent, wide[W+23 -: 23]} + {31'b0, more};
    always @(posedge clock) if (moves) begin
        sign <= {sign[0], x[W-1]};
        size <= x[W-1] ? -x : x;
        point <= frac;
        norm <= size << (W - 1 - first);
        exponent <= 8'd127 + first - point;
        y <= norm[W-1] ? {sign[1], whole[30:0]} : 32'b0;
    end
endmodule

// Converts beats of single-precision numbers to beats of words, or back. `side` is delayed by as many cycles.
module fx_convert #(parameter LANES = 16, parameter IN = 32, parameter OUT = 27, parameter BACK = 0, parameter S = 49) (
    input clock, input reset, input in_valid, output in_ready, input [S-1:0] in_side, input [8*LANES-1:0] frac,
    input [IN*LANES-1:0] in_data,
    output out_valid, input out_ready, output [S-1:0] out_side, output [OUT*LANES-1:0] out_data
);
    reg [2:0] valid;
    reg [S-1:0] side_1, side_2, side_3;
    wire moves = ~valid[2] | out_ready;
    wire [2:0] next = reset ? 3'b0 : moves ? {valid[1:0], in_valid} : valid;
    assign in_ready = moves;
    assign out_valid = valid[2];
    assign out_side = side_3;
    always @(posedge clock) begin
        if (moves) {side_3, side_2, side_1} <= {side_2, side_1, in_side};
        valid <= next;
    end
    genvar k;
    generate
        for (k = 0; k < LANES; k = k + 1) begin : lane
            wire full;
            fx_copy #(1) fulls (.clock(clock), .next(next[2]), .now(full));
            wire go = ~full | out_ready;
            if (BACK) begin : out
                fx_to_single #(IN) single (.clock(clock), .moves(go), .frac(frac[8*k +: 8]),
                    .x(in_data[IN*k +: IN]), .y(out_data[OUT*k +: OUT]));
            end else begin : in
                fx_from_single #(OUT) single (.clock(clock), .moves(go), .frac(frac[8*k +: 8]),
                    .x(in_data[IN*k +: IN]), .y(out_data[OUT*k +: OUT]));
            end
        end
    endgenerate
endmodule

// The AXI4-Lite registers. `resetting` stays high until the clock of the accelerator has seen it (`done`).
module fx_registers #(parameter FINGERPRINT = 0, parameter SHAPE = 0, parameter STREAM = 0) (
    input clock, input resetn,
    input [7:0] awaddr, input awvalid, output awready, input [31:0] wdata, input [3:0] wstrb, input wvalid,
    output wready, output [1:0] bresp, output reg bvalid, input bready, input [7:0] araddr, input arvalid,
    output arready, output reg [31:0] rdata, output [1:0] rresp, output reg rvalid, input rready,
    output reg asked, output reg resetting, input closed, input done, input stalled_in, input stalled_out, input task_in, input result_out,
    input flag, input error, input malformed
);
    reg [3:0] least;
    reg [2:0] errors;
    reg [31:0] tasks, results, flagged, unknown, wrong, ins, outs;
    wire write = awvalid & wvalid & ~bvalid;
    wire [2:0] cleared = {3{write & wstrb[0] & awaddr[7:2] == 6'h06}} & wdata[2:0];
    wire [2:0] seen = {3{result_out}} & {malformed, error & ~malformed, flag};
    assign awready = write, wready = write, arready = ~rvalid, bresp = 0, rresp = 0;
    always @(posedge clock) begin
        bvalid <= resetn & (write | (bvalid & ~bready));
        rvalid <= resetn & (rvalid ? ~rready : arvalid);
        if (arready) case (araddr[7:2])
            6'h00: rdata <= 32'h434e4459;
            6'h01: rdata <= 32'd1;
            6'h02: rdata <= FINGERPRINT;
            6'h03: rdata <= SHAPE;
            6'h04: rdata <= STREAM;
            6'h05: rdata <= {31'b0, asked | resetting};
            6'h06: rdata <= {29'b0, errors};
            6'h07: rdata <= tasks;
            6'h08: rdata <= results;
            6'h09: rdata <= flagged;
            6'h0a: rdata <= unknown;
            6'h0b: rdata <= wrong;
            6'h0c: rdata <= ins;
            6'h0d: rdata <= outs;
            default: rdata <= 32'd0;
        endcase
        asked <= resetn & ((write & wstrb[0] & awaddr[7:2] == 6'h05 & wdata[0]) | (asked & ~closed));
        if (~resetn | (asked & closed)) begin
            resetting <= 1'b1;
            least <= 0;
        end else begin
            least <= least == 4'hf ? least : least + 1'b1;
            if (least == 4'hf & done) resetting <= 1'b0;
        end
        if (~resetn | resetting) begin
            errors <= 0;
            {tasks, results, flagged, unknown, wrong, ins, outs} <= 0;
        end else begin
            errors <= (errors & ~cleared) | seen;
            tasks <= tasks + {31'b0, task_in};
            results <= results + {31'b0, result_out};
            flagged <= flagged + {31'b0, seen[0]};
            unknown <= unknown + {31'b0, seen[1]};
            wrong <= wrong + {31'b0, seen[2]};
            ins <= ins + {31'b0, stalled_in};
            outs <= outs + {31'b0, stalled_out};
        end
    end
endmodule
