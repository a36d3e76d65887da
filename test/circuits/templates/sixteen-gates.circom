pragma circom 2.1.6;

include "gates.circom";

component main {public [in, gates]} = Gates(16);
