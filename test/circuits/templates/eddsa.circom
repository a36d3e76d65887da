pragma circom 2.1.6;

include "signature.circom";

component main {public [message, keyX, keyY]} = SignedBy();
