    // Options: +first=N and +tasks=N choose a part of the tasks. +only=CODE sends those of one code.
    // +stall_in=N and +stall_out=N stall in N % of the cycles, at random; +seed=N changes when.
    // +dump writes the signals of the module into DUMP.
    reg [N - 1:0] seen;
    integer first, stop, next, sent, got, wrong, cycle, idle, seed, only, stall_in, stall_out, sparse, total, k;
    integer first_out, last_out, slowest;
    integer entered [0:N - 1];

    function integer stalled(input integer percent);
        stalled = percent > 0 && ($unsigned($random(seed)) % 100) < percent;
    endfunction

    function integer following(input integer after);
        integer at;
        begin
            at = after + 1;
            while (at < stop && only >= 0 && kind(at) != only) at = at + 1;
            following = at;
        end
    endfunction

    task options;
        begin
            if ($test$plusargs("dump")) begin
                $dumpfile("DUMP");
                $dumpvars(1, dut);
            end
            if (!$value$plusargs("only=%d", only)) only = -1;
            if (!$value$plusargs("stall_in=%d", stall_in)) stall_in = 0;
            if (!$value$plusargs("stall_out=%d", stall_out)) stall_out = 0;
            if (!$value$plusargs("seed=%d", seed)) seed = 1;
            if (!$value$plusargs("sparse=%d", sparse)) sparse = 0;
            if (!$value$plusargs("first=%d", first)) first = 0;
            if (!$value$plusargs("tasks=%d", stop)) stop = N - first;
            stop = first + stop;
            total = 0;
            for (k = first; k < stop; k = k + 1) if (only < 0 || kind(k) == only) total = total + 1;
            sent = 0; got = 0; wrong = 0; cycle = 0; idle = 0; seen = 0; first_out = 0; last_out = 0; slowest = 0;
        end
    endtask

