    // +sparse=1 sends a packet only when all earlier ones are answered.
    // +joined=N leaves tlast out after N % of the packets; it always follows a wrong packet and the last one.
    // +share=N and +timeout=N write the registers results_per_last and timeout.
    // +restart=1 begins with a soft reset inside a packet. +bus=N and +core=N are half periods of the two clocks.
    reg [AXI:0] beats [0:IN - 1];
    reg [AXI:0] answers [0:OUT - 1];
    reg [31:0] sent_from [0:N];
    reg [31:0] answer_from [0:N];
    reg aclk, core_clk, aresetn, s_valid, s_last, m_ready, going;
    reg [AXI:0] now, want;
    wire [AXI - 1:0] m_data;
    wire s_ready, m_valid, m_last;
    reg [7:0] address;
    reg [31:0] wdata, got_word;
    reg write_valid, read_valid;
    wire write_done, read_done;
    wire [31:0] rdata;
    integer at, bus_half, core_half, place, tag, beats_out, flags, unknowns, malforms;
    integer restart, joined, share, timeout, shared, last_beat;

    TOP_axi #(.AXI(AXI)) dut (
        .aclk(aclk), .aresetn(aresetn), CORE
        .s_axis_tdata(s_valid ? now[AXI - 1:0] : {AXI{1'bx}}), .s_axis_tlast(s_valid ? s_last : 1'bx),
        .s_axis_tvalid(s_valid), .s_axis_tready(s_ready),
        .m_axis_tdata(m_data), .m_axis_tvalid(m_valid), .m_axis_tready(m_ready), .m_axis_tlast(m_last),
        .s_axil_awaddr(address), .s_axil_awvalid(write_valid), .s_axil_awready(), .s_axil_wdata(wdata),
        .s_axil_wstrb(4'hf), .s_axil_wvalid(write_valid), .s_axil_wready(), .s_axil_bresp(),
        .s_axil_bvalid(write_done), .s_axil_bready(1'b1), .s_axil_araddr(address), .s_axil_arvalid(read_valid),
        .s_axil_arready(), .s_axil_rdata(rdata), .s_axil_rresp(), .s_axil_rvalid(read_done), .s_axil_rready(1'b1)
    );

    function [7:0] kind(input integer packet);
        reg [AXI:0] row;
        begin
            row = beats[sent_from[packet]];
            kind = row`FUNCTION`;
        end
    endfunction

    // whether tlast goes with this beat
    function ends(input [AXI:0] beat);
        reg [AXI:0] answer;
        begin
            answer = answers[answer_from[next]];
            ends = beat[AXI] && (following(next) >= stop || answer`ERROR` || joined == 0);
            if (joined > 0 && beat[AXI] && !ends) ends = !stalled(joined);
        end
    endfunction

    task get(input [7:0] from);
        begin
            @(negedge aclk) address = from;
            read_valid = 1;
            @(negedge aclk) read_valid = 0;
            while (!read_done) @(negedge aclk);
            got_word = rdata;
        end
    endtask

    task read(input [7:0] from, input [31:0] want);
        begin
            get(from);
            if (got_word !== want) begin
                $display("WRONG register %h: got %h, want %h", from, got_word, want);
                wrong = wrong + 1;
            end
        end
    endtask

    task write(input [7:0] to, input [31:0] value);
        begin
            @(negedge aclk) address = to;
            wdata = value;
            write_valid = 1;
            @(negedge aclk) write_valid = 0;
            while (!write_done) @(negedge aclk);
        end
    endtask

    // one beat that is never stalled
    task send(input [AXI:0] beat, input last);
        begin
            @(negedge aclk) now = beat;
            s_last = last;
            s_valid = 1;
            @(posedge aclk);
            while (!s_ready) @(posedge aclk);
        end
    endtask

    // a soft reset while a result is sent: the packet must still end with tlast
    task reset_while_sending;
        integer k;
        begin
            for (k = sent_from[first]; k < sent_from[first + 1]; k = k + 1) send(beats[k], k + 1 == sent_from[first + 1]);
            @(negedge aclk) s_valid = 0;
            while (!m_valid) @(negedge aclk);
            write(`AT_CONTROL`, 1);
            repeat (40) @(negedge aclk);
            m_ready = 1;
            for (k = 0; k < 100 && !(m_valid && m_last); k = k + 1) @(posedge aclk);
            @(negedge aclk) m_ready = 0;
            restarted;
            read(`AT_TASKS`, 0);
        end
    endtask

    // waits until the clock of the accelerator has seen the reset
    task restarted;
        begin
            got_word = 1;
            while (got_word != 0) get(`AT_CONTROL`);
        end
    endtask

    initial begin
        $readmemh("axi_tasks.hex", beats);
        $readmemh("axi_answers.hex", answers);
        $readmemh("axi_tasks_from.hex", sent_from);
        $readmemh("axi_answers_from.hex", answer_from);
        options;
        if (!$value$plusargs("restart=%d", restart)) restart = 0;
        if (!$value$plusargs("joined=%d", joined)) joined = 0;
        if (!$value$plusargs("share=%d", share)) share = 1;
        if (!$value$plusargs("timeout=%d", timeout)) timeout = `DEFAULT_TIMEOUT`;
        if (!$value$plusargs("bus=%d", bus_half)) bus_half = 4;
        if (!$value$plusargs("core=%d", core_half)) core_half = 4;
        beats_out = 0; flags = 0; unknowns = 0; malforms = 0; place = 0; tag = 0; going = 0;
        shared = 0; last_beat = 0; s_last = 0; s_valid = 0; m_ready = 0; read_valid = 0; write_valid = 0; address = 0; wdata = 0; now = 0;
        aclk = 0; core_clk = 0; aresetn = 0;
        next = following(first - 1);
        at = sent_from[next];
        repeat (4) @(negedge aclk);
        aresetn = 1;
        restarted;
        IDENTITY
        read(`AT_RESULTS_PER_LAST`, 1);
        read(`AT_TIMEOUT`, `DEFAULT_TIMEOUT`);
        write(`AT_RESULTS_PER_LAST`, share);
        write(`AT_TIMEOUT`, timeout);
        if (restart != 0) begin
            reset_while_sending;
            send(beats[at], 0);
            @(negedge aclk) s_valid = 0;
            write(`AT_CONTROL`, 1);
            restarted;
            for (k = 0; k < 4; k = k + 1) send({(AXI + 1){1'b1}}, k == 3);
            @(negedge aclk) s_valid = 0;
            read(`AT_TASKS`, 0);
        end
        read(`AT_RESULTS_PER_LAST`, share == 0 ? 1 : share);
        going = 1;
    end

    always #(bus_half) aclk = ~aclk;
    always #(core_half) core_clk = ~core_clk;

    // inputs change at the falling edge and outputs are read at the rising edge, so there are no races
    reg accepted, offers;
    reg [AXI:0] offered;
    initial accepted = 0;
    initial offers = 0;
    always @(negedge aclk) if (going) begin
        if (accepted) begin
            s_valid = 0;
            at = at + 1;
            if (at == sent_from[next + 1]) begin
                next = following(next);
                at = next < stop ? sent_from[next] : 0;
            end
        end
        if (next < stop && !stalled(stall_in) && !(sparse > 0 && at == sent_from[next] && sent != got) && !s_valid) begin
            s_valid = 1;
            now = beats[at];
            s_last = ends(now);
        end
        m_ready = !stalled(stall_out);
    end

    always @(posedge aclk) begin
        if (!aresetn && aclk && s_ready !== 0 && $time > 2 * bus_half) begin
            $display("WRONG s_axis_tready: %b in reset", s_ready);
            wrong = wrong + 1;
        end
        if (offers && aresetn && (m_valid !== 1 || {m_last, m_data} !== offered)) begin
            $display("WRONG: tvalid, tdata or tlast changed before the beat was taken");
            wrong = wrong + 1;
        end
        offers = aresetn && m_valid && !m_ready;
        offered = {m_last, m_data};
        if (going) begin
            if (^m_valid === 1'bx || ^s_ready === 1'bx) begin
                $display("WRONG: m_axis_tvalid %b, s_axis_tready %b", m_valid, s_ready);
                wrong = wrong + 1;
            end
            cycle = cycle + 1;
            idle = idle + 1;
            if (m_valid && m_ready) check;
            accepted = s_valid && s_ready;
            if (accepted) begin
                idle = 0;
                if (at == sent_from[next]) entered[next] = cycle;
                if (now[AXI]) sent = sent + 1;
            end
            if ((got == total && sent == total) || wrong > 0 || idle > 20000) begin
                going = 0;
                finish;
            end
        end
    end

    task check;
        begin
            idle = 0;
            if (place == 0) begin
                tag = m_data`TAG`;
                flags = flags + m_data`FLAG`;
                unknowns = unknowns + (m_data`ERROR` & ~m_data`MALFORMED`);
                malforms = malforms + m_data`MALFORMED`;
            end
            want = answers[answer_from[tag] + place];
            if (tag >= N || tag > next || (place == 0 && seen[tag])) begin
                $display("WRONG tag %0d: no packet with it is waiting for a result", tag);
                wrong = wrong + 1;
            end else if (m_data !== want[AXI - 1:0]) begin
                $display("WRONG beat %0d of tag %0d:\n  got  %h\n  want %h", place, tag, m_data, want[AXI - 1:0]);
                wrong = wrong + 1;
            end else if (m_last ? !(want[AXI] && (shared + 1 >= share || cycle - last_beat > timeout))
                : want[AXI] && (shared + 1 >= share || got + 1 == total)) begin
                $display("WRONG tlast of beat %0d of tag %0d, the result %0d of %0d", place, tag, shared + 1, share);
                wrong = wrong + 1;
            end else begin
                seen[tag] = 1;
                last_beat = cycle;
                if (want[AXI]) shared = m_last ? 0 : shared + 1;
                if (got == 0 && want[AXI]) first_out = cycle;
                if (got > 0) beats_out = beats_out + 1;
                if (place == 0 && cycle - entered[tag] > slowest) slowest = cycle - entered[tag];
                place = want[AXI] ? 0 : place + 1;
                if (want[AXI]) begin
                    got = got + 1;
                    last_out = cycle;
                end
            end
        end
    endtask

    task finish;
        begin
            if (total == 0) $display("WRONG: no packet to send");
            else if (wrong == 0 && got != total) $display("WRONG: only %0d of %0d packets were answered", got, total);
            else if (wrong == 0) begin
                read(`AT_TASKS`, total);
                read(`AT_RESULTS`, total);
                read(`AT_FLAGGED`, flags);
                read(`AT_UNKNOWN`, unknowns);
                read(`AT_MALFORMED`, malforms);
                read(`AT_ERRORS`, {29'b0, malforms != 0, unknowns != 0, flags != 0});
                write(`AT_ERRORS`, 7);
                read(`AT_ERRORS`, 0);
                write(`AT_CONTROL`, 1);
                restarted;
                read(`AT_RESULTS`, 0);
                if (wrong == 0) $display("right: %0d packets, cycles %0d, latency %0d, interval %0d/%0d, beats %0d", got,
                    cycle, slowest, last_out - first_out, got > 1 ? got - 1 : 1, beats_out);
            end
            $finish;
        end
    endtask
