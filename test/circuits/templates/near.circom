pragma circom 2.1.6;

include "range.circom";

component main {public [a, b]} = NearLessThan(64);
