pragma circom 2.1.6;

include "select.circom";

component main {public [in, index]} = Select(3);
