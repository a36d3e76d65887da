pragma circom 2.1.6;

include "compare.circom";

component main {public [a, b, op]} = CompareEncoded();
