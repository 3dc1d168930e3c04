`timescale 1ns/1ps
// fx_multiplier on an ECP5: the registers of the factors and of the product are those inside a MULT18X18D. yosys maps
// `x * y` to a multiplier without a clock, whose registers stay unused; a wider product than 18 x 18 is left to it.
module fx_multiplier #(parameter WA = 18, parameter WB = 18) (
    input clock, input signed [WA-1:0] a, input signed [WB-1:0] b, output signed [WA+WB-1:0] p
);
    generate
        if (WA > 18 || WB > 18) begin : wide
            reg signed [WA-1:0] x;
            reg signed [WB-1:0] y;
            reg signed [WA+WB-1:0] product;
            assign p = product;
            always @(posedge clock) begin
                x <= a;
                y <= b;
                product <= x * y;
            end
        end else begin : one
            wire [17:0] x = a;
            wire [17:0] y = b;
            wire [35:0] product;
            assign p = product[WA+WB-1:0];
            MULT18X18D #(
                .REG_INPUTA_CLK("CLK0"), .REG_INPUTB_CLK("CLK0"), .REG_OUTPUT_CLK("CLK0"), .GSR("DISABLED")
            ) multiplier (
                .CLK0(clock), .CE0(1'b1), .RST0(1'b0), .SIGNEDA(1'b1), .SIGNEDB(1'b1), .SOURCEA(1'b0), .SOURCEB(1'b0),
                .A0(x[0]), .A1(x[1]), .A2(x[2]), .A3(x[3]), .A4(x[4]), .A5(x[5]),
                .A6(x[6]), .A7(x[7]), .A8(x[8]), .A9(x[9]), .A10(x[10]), .A11(x[11]),
                .A12(x[12]), .A13(x[13]), .A14(x[14]), .A15(x[15]), .A16(x[16]), .A17(x[17]),
                .B0(y[0]), .B1(y[1]), .B2(y[2]), .B3(y[3]), .B4(y[4]), .B5(y[5]),
                .B6(y[6]), .B7(y[7]), .B8(y[8]), .B9(y[9]), .B10(y[10]), .B11(y[11]),
                .B12(y[12]), .B13(y[13]), .B14(y[14]), .B15(y[15]), .B16(y[16]), .B17(y[17]),
                .C0(1'b0), .C1(1'b0), .C2(1'b0), .C3(1'b0), .C4(1'b0), .C5(1'b0),
                .C6(1'b0), .C7(1'b0), .C8(1'b0), .C9(1'b0), .C10(1'b0), .C11(1'b0),
                .C12(1'b0), .C13(1'b0), .C14(1'b0), .C15(1'b0), .C16(1'b0), .C17(1'b0),
                .P0(product[0]), .P1(product[1]), .P2(product[2]), .P3(product[3]),
                .P4(product[4]), .P5(product[5]), .P6(product[6]), .P7(product[7]),
                .P8(product[8]), .P9(product[9]), .P10(product[10]), .P11(product[11]),
                .P12(product[12]), .P13(product[13]), .P14(product[14]), .P15(product[15]),
                .P16(product[16]), .P17(product[17]), .P18(product[18]), .P19(product[19]),
                .P20(product[20]), .P21(product[21]), .P22(product[22]), .P23(product[23]),
                .P24(product[24]), .P25(product[25]), .P26(product[26]), .P27(product[27]),
                .P28(product[28]), .P29(product[29]), .P30(product[30]), .P31(product[31]),
                .P32(product[32]), .P33(product[33]), .P34(product[34]), .P35(product[35])
            );
        end
    endgenerate
endmodule
