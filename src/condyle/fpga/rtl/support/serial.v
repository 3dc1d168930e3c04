`timescale 1ns/1ps
// The accelerator @name@ with a serial port, for a board that has only a USB-UART.
// A task has @in_bytes@ bytes: the code of the function, the tag (2), the data. The low byte is first.
// A result has @out_bytes@ bytes: the code, the tag (2), a byte with the flag (bit 0) and the error (bit 1), the data.
// Send a task after the result of the one before. A task whose bytes stop for 2^18 cycles is dropped.
// 8 data bits, no parity, one stop bit. A bit takes DIVIDE cycles: 217 at 25 MHz for 115 200 baud.
module @name@_serial #(parameter DIVIDE = 217) (
    input clk_25mhz, input button, input ftdi_txd, output ftdi_rxd, output [1:0] led, output wifi_gpio0
);
    localparam IN = @in_bytes@, OUT = @out_bytes@;
    reg [3:0] wake = 0;
    reg reset = 1;
    always @(posedge clk_25mhz) begin
        wake <= button ? 4'd0 : wake == 15 ? wake : wake + 1'b1;
        reset <= wake != 15;
    end
    assign wifi_gpio0 = 1'b1;

    wire [7:0] byte_in;
    wire byte_comes, in_ready, out_valid, out_flag, out_error, byte_goes;
    reg [8*IN-1:0] task_bytes;
    reg [15:0] have;
    reg [18:0] quiet;
    wire whole = have == IN;
    fx_serial_in #(DIVIDE) receive (
        .clock(clk_25mhz), .reset(reset), .line(ftdi_txd), .valid(byte_comes), .data(byte_in)
    );
    always @(posedge clk_25mhz) begin
        quiet <= byte_comes || have == 0 || whole ? 19'd0 : quiet + 1'b1;
        if (byte_comes && !whole) task_bytes <= {byte_in, task_bytes[8*IN-1:8]};
        if (reset || quiet[18] || (whole && in_ready)) have <= 0;
        else if (byte_comes && !whole) have <= have + 1'b1;
    end

    reg [8*OUT-1:0] result;
    reg [15:0] left;
    reg [1:0] seen;
    wire [@code@-1:0] out_function;
    wire [15:0] out_tag;
    wire [@answer@-1:0] out_data;
    @name@ core (
        .clock(clk_25mhz), .reset(reset), .in_valid(whole), .in_ready(in_ready),
        .in_function(task_bytes[@code@-1:0]), .in_tag(task_bytes[23:8]), .in_data(task_bytes[@task@+23:24]),
        .out_valid(out_valid), .out_ready(left == 0), .out_function(out_function), .out_tag(out_tag),
        .out_flag(out_flag), .out_error(out_error), .out_data(out_data)
    );

    fx_serial_out #(DIVIDE) send (
        .clock(clk_25mhz), .reset(reset), .line(ftdi_rxd), .valid(left != 0), .ready(byte_goes), .data(result[7:0])
    );
    always @(posedge clk_25mhz) begin
        if (left == 0) result <= {{(8*OUT-@answer@-32){1'b0}}, out_data, 6'b0, out_error, out_flag, out_tag,
            {(8-@code@){1'b0}}, out_function};
        else if (byte_goes) result <= result >> 8;
        if (reset) left <= 0;
        else if (left == 0) left <= out_valid ? OUT : 0;
        else if (byte_goes) left <= left - 1'b1;
        if (reset) seen <= 0;
        else if (left == 0 && out_valid) seen <= {~seen[1], out_flag};
    end
    assign led = seen;  // led[1] toggles with each result; led[0]: it has a flag
endmodule

module fx_serial_in #(parameter DIVIDE = 217) (
    input clock, input reset, input line, output reg valid, output reg [7:0] data
);
    reg [2:0] now;
    reg [3:0] place;
    reg [15:0] wait_for;
    reg busy;
    always @(posedge clock) begin
        now <= {now[1:0], line};
        valid <= 0;
        if (reset) begin
            now <= 3'b111;
            busy <= 0;
        end else if (!busy) begin
            busy <= ~now[2];
            place <= 0;
            wait_for <= DIVIDE / 2;
        end else if (wait_for != 0) wait_for <= wait_for - 1'b1;
        else begin
            wait_for <= DIVIDE - 1;
            place <= place + 1'b1;
            if (place == 9 || (place == 0 && now[2])) busy <= 0;
            valid <= place == 9 && now[2];
            if (place != 0 && place != 9) data <= {now[2], data[7:1]};
        end
    end
endmodule

module fx_serial_out #(parameter DIVIDE = 217) (
    input clock, input reset, output reg line, input valid, output ready, input [7:0] data
);
    reg [8:0] bits;
    reg [3:0] left;
    reg [15:0] wait_for;
    assign ready = left == 0;
    always @(posedge clock) begin
        if (reset) begin
            line <= 1;
            left <= 0;
        end else if (left == 0) begin
            wait_for <= DIVIDE - 1;
            if (valid) begin
                line <= 0;
                bits <= {1'b1, data};
                left <= 10;
            end
        end else if (wait_for != 0) wait_for <= wait_for - 1'b1;
        else begin
            wait_for <= DIVIDE - 1;
            line <= bits[0];
            bits <= {1'b1, bits[8:1]};
            left <= left - 1'b1;
        end
    end
endmodule
