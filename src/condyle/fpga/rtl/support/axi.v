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

// A FIFO between two clocks of any ratio: Gray-coded pointers, a synchroniser of two registers in each direction. `more`:
// another word is there behind the one at the output.
module fx_crossing #(parameter W = 32, parameter BITS = 4) (
    input in_clock, input in_reset, input in_valid, output in_ready, input [W-1:0] in_data,
    input out_clock, input out_reset, output reg out_valid, input out_ready, output [W-1:0] out_data,
    output more
);
    reg [W-1:0] memory [0:(1<<BITS)-1];
    reg [BITS:0] head, tail, head_gray, tail_gray;
    (* ASYNC_REG = "TRUE" *) reg [BITS:0] head_1, head_2, tail_1, tail_2;
    wire [BITS:0] head_next = head + 1'b1, tail_next = tail + 1'b1;
    wire moves = ~out_valid | out_ready;
    wire next = ~out_reset & (more | ~moves);
    assign more = head_gray != tail_2;
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
        head <= out_reset ? 0 : more & moves ? head_next : head;
        head_gray <= out_reset ? 0 : more & moves ? head_next ^ (head_next >> 1) : head_gray;
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

// Cuts a stream into packets. `beats`: how many the code in this beat has, if the beat is a packet's first; 0: unknown. A
// packet ends after as many beats; where the transfer ends before, it is malformed. Of an unknown code the length is not
// known either: the packet ends with its first beat, and what follows is dropped until the transfer ends (`drops`).
module fx_packets (
    input clock, input resetn, input reset, input moves, input last, input [15:0] beats,
    output ends, output unknown, output malformed, output reg drops
);
    reg [15:0] rest;
    reg midway;
    wire [15:0] now = rest == 0 ? beats : rest;
    assign unknown = now == 0, malformed = last & now > 1, ends = last | now <= 1;
    always @(posedge clock) begin
        rest <= reset | (moves & (ends | drops)) ? 0 : moves ? now - 1'b1 : rest;
        midway <= resetn & (moves ? ~last : midway);
        drops <= resetn & (reset ? midway : moves ? ~last & (drops | unknown) : drops);
    end
endmodule

// Decides which results end a transfer: every `most`-th. The last beat of another one waits until the next result is there
// (`more`), because it must not leave without `last` if none comes: after `timeout` cycles it leaves with `last`. A reset
// that is asked for ends the transfer too; `closed`: it has ended, and nothing leaves. `counts`: a result begins to leave.
module fx_transfers (
    input clock, input reset, input asked, input [31:0] most, input [31:0] timeout,
    input there, input ends, input more, input ready, output valid, output last, output counts, output reg closed
);
    reg [31:0] place, waited;
    reg full, partway;
    wire waits = there & ends & ~full & ~more;
    wire beat = valid & ready;
    wire [31:0] after = full ? 32'd1 : place + 1'b1;
    assign valid = there & ~waits & ~closed, last = ends & full, counts = beat & ~partway;
    always @(posedge clock) begin
        place <= reset ? 1 : beat & ends ? after : place;
        partway <= ~reset & (beat ? ~ends : partway);
        waited <= ~waits ? 0 : &waited ? waited : waited + 1'b1;
        // while a beat is offered, its `last` stays
        if (~valid | ready) full <= asked | (beat & ends ? after >= most : place >= most) | (waits & waited >= timeout);
        closed <= (asked | reset) & (closed | (beat ? last : ~there & ~partway));
    end
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

// Collects the beats of a packet into one wide word.
module fx_gather #(parameter B = 512, parameter BEATS = 4) (
    input clock, input reset, input in_valid, output in_ready, input in_last, input [31:0] in_head,
    input [15:0] in_place, input [1:0] in_wrong, input [B-1:0] in_data,
    output reg full, input taken, output reg [31:0] head, output [BEATS*B-1:0] data, output reg [1:0] wrong
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
            wrong <= in_wrong;
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
module fx_registers #(
    parameter magic = 0, parameter version = 0, parameter fingerprint = 0, parameter shape = 0, parameter stream = 0
) (
    input clock, input resetn,
    input [7:0] awaddr, input awvalid, output awready, input [31:0] wdata, input [3:0] wstrb, input wvalid,
    output wready, output [1:0] bresp, output reg bvalid, input bready, input [7:0] araddr, input arvalid,
    output arready, output reg [31:0] rdata, output [1:0] rresp, output reg rvalid, input rready,
    output reg asked, output reg resetting, input closed, input done, input waits_in, input waits_out, input task_in,
    input result_out, input flag, input error, input cut,
    output reg [31:0] results_per_last, output reg [31:0] timeout
);
    reg [3:0] least;
    reg [2:0] set;
    reg [31:0] tasks, results, flagged, unknown, malformed, stalled_in, stalled_out;
    wire [31:0] control = {31'b0, asked | resetting}, errors = {29'b0, set};
    wire [7:0] to = {awaddr[7:2], 2'b0};
    wire write = awvalid & wvalid & ~bvalid;
    wire [2:0] cleared = {3{write & wstrb[0] & to == `AT_ERRORS`}} & wdata[2:0];
    wire [2:0] seen = {3{result_out}} & {cut, error & ~cut, flag};
    assign awready = write, wready = write, arready = ~rvalid, bresp = 0, rresp = 0;
    always @(posedge clock) begin
        bvalid <= resetn & (write | (bvalid & ~bready));
        rvalid <= resetn & (rvalid ? ~rready : arvalid);
        if (arready) case ({araddr[7:2], 2'b0})`READS`
            default: rdata <= 32'd0;
        endcase
        if (~resetn) {results_per_last, timeout} <= {32'd1, 32'd`DEFAULT_TIMEOUT`};
        else if (write & (&wstrb) & to == `AT_RESULTS_PER_LAST`) results_per_last <= wdata == 0 ? 1 : wdata;
        else if (write & (&wstrb) & to == `AT_TIMEOUT`) timeout <= wdata;
        asked <= resetn & ((write & wstrb[0] & to == `AT_CONTROL` & wdata[0]) | (asked & ~closed));
        if (~resetn | (asked & closed)) begin
            resetting <= 1'b1;
            least <= 0;
        end else begin
            least <= least == 4'hf ? least : least + 1'b1;
            if (least == 4'hf & done) resetting <= 1'b0;
        end
        if (~resetn | resetting) begin
            set <= 0;
            {tasks, results, flagged, unknown, malformed, stalled_in, stalled_out} <= 0;
        end else begin
            set <= (set & ~cleared) | seen;
            tasks <= tasks + {31'b0, task_in};
            results <= results + {31'b0, result_out};
            flagged <= flagged + {31'b0, seen[0]};
            unknown <= unknown + {31'b0, seen[1]};
            malformed <= malformed + {31'b0, seen[2]};
            stalled_in <= stalled_in + {31'b0, waits_in};
            stalled_out <= stalled_out + {31'b0, waits_out};
        end
    end
endmodule
