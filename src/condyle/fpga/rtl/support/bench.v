    // +sparse=N sends a task N cycles after the last result, when all arrays are empty.
    // +show prints every result with its tag.
    reg [F + T - 1:0] tasks [0:N - 1];
    reg [F + A + 1:0] answers [0:N - 1];
    reg [P - 1:0] got_bits, want_bits;
    reg clock, reset, in_valid, out_ready, accepted, show;
    wire in_ready, out_valid, out_flag, out_error;
    wire [F - 1:0] out_function;
    wire [G - 1:0] out_tag;
    wire [A - 1:0] out_data;
    integer last [0:(1 << F) - 1];

    // data that are not valid are x: they must not have an effect
    wire [F + T - 1:0] now = in_valid ? tasks[next] : {(F + T){1'bx}};
    TOP dut (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_ready(in_ready),
        .in_function(now[F + T - 1:T]), .in_tag(in_valid ? next[G - 1:0] : {G{1'bx}}), .in_data(now[T - 1:0]),
        .out_valid(out_valid), .out_ready(out_ready), .out_function(out_function), .out_tag(out_tag),
        .out_flag(out_flag), .out_error(out_error), .out_data(out_data)
    );

    initial begin
        $readmemh("tasks.hex", tasks);
        $readmemh("answers.hex", answers);
        options;
        show = $test$plusargs("show");
        for (k = 0; k < (1 << F); k = k + 1) last[k] = -1;
        next = 0; in_valid = 0; accepted = 0; out_ready = 0; clock = 0; reset = 1;
        repeat (4) @(negedge clock);
        reset = 0;
        next = following(first - 1);
    end

    always #1 clock = ~clock;

    // inputs change at the falling edge and outputs are read at the rising edge, so there are no races
    always @(negedge clock) if (!reset) begin
        if (accepted) begin
            next = following(next);
            in_valid = 0;
        end
        in_valid = in_valid | (next < stop && !stalled(stall_in) && !(sparse > 0 && (sent != got || idle < sparse)));
        out_ready = !stalled(stall_out);
    end

    always @(posedge clock) if (reset && in_ready !== 0) begin
        $display("WRONG in_ready: %b in reset", in_ready);
        wrong = wrong + 1;
    end

    always @(posedge clock) if (!reset) begin
        if (^out_valid === 1'bx || ^in_ready === 1'bx) begin
            $display("WRONG: out_valid %b, in_ready %b", out_valid, in_ready);
            wrong = wrong + 1;
        end
        cycle = cycle + 1;
        idle = idle + 1;
        if (out_valid && out_ready) check;
        accepted = in_valid && in_ready;
        if (accepted) begin
            entered[next] = cycle;
            sent = sent + 1;
            idle = 0;
        end
        if (got == total || wrong > 0 || idle > 20000) finish;
    end

    function integer kind(input integer at);
        reg [F + T - 1:0] row;
        begin
            row = tasks[at];
            kind = row[F + T - 1:T];
        end
    endfunction

    task check;
        begin
            idle = 0;
            if (out_tag >= N || seen[out_tag] || out_tag >= next) begin
                $display("WRONG tag %0d: no task with it is waiting for a result", out_tag);
                wrong = wrong + 1;
            end else begin
                seen[out_tag] = 1;
                if (show) begin  // by words: verilator takes no more than 8192 bits at once
                    got_bits = {out_error, out_flag, out_function, out_data};
                    $write("answer %0d ", out_tag);
                    for (k = P - 32; k >= 0; k = k - 32) $write("%h", got_bits[k +: 32]);
                    $write("\n");
                end
                if ($signed({1'b0, out_tag}) < last[out_function]) begin
                    $display("WRONG order: result of tag %0d came after that of tag %0d", out_tag, last[out_function]);
                    wrong = wrong + 1;
                end
                last[out_function] = out_tag;
                if ({out_error, out_flag, out_function, out_data} !== answers[out_tag]) begin
                    $display("WRONG answer, tag %0d function %0d flag %0d", out_tag, out_function, out_flag);
                    got_bits = {out_error, out_flag, out_function, out_data};
                    want_bits = answers[out_tag];
                    for (k = 0; k < P; k = k + 32) if (got_bits[k +: 32] !== want_bits[k +: 32])
                        $display("  bits from %0d: got %h, want %h", k, got_bits[k +: 32], want_bits[k +: 32]);
                    wrong = wrong + 1;
                end
                if (got == 0) first_out = cycle;
                last_out = cycle;
                if (cycle - entered[out_tag] > slowest) slowest = cycle - entered[out_tag];
                got = got + 1;
            end
        end
    endtask

    task finish;
        begin
            if (total == 0) $display("WRONG: no task to send");
            else if (wrong == 0 && got != total) $display("WRONG: only %0d of %0d tasks were answered", got, total);
            else if (wrong == 0)
                $display("right: %0d tasks, cycles %0d, latency %0d, interval %0d/%0d", got, cycle, slowest,
                    last_out - first_out, got > 1 ? got - 1 : 1);
            $finish;
        end
    endtask
