pragma circom 2.1.6;

include "rule.circom";

component main {public [op, negated, value, isNumber, operand]} = Rule();
