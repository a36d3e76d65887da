/** What the host may call and read. @module */
export {
  BATCH,
  BATCH_MERCHANTS,
  BATCH_PROOFS,
  BATCH_TEXTS,
  BATCH_VERDICTS,
  INPUT,
  INPUT_BYTES,
  KEY_SLOTS,
  KEYS,
  MERCHANT,
  MERCHANT_BYTES,
  OUTPUT,
  OUTPUT_BYTES,
} from './memory'
export { base64urlDecode, base64urlEncode } from './base64url'
export { hmacBegin, hmacEnd, hmacExport, hmacForget, hmacImport, hmacKey } from './hmac'
export {
  SET_BASE,
  SET_COEFFICIENTS,
  SET_DIRECTORY,
  SET_DIRECTORY_BITS,
  SET_ENTRY_BYTES,
  SET_BUCKET_BYTES,
  SET_BUCKET_LIMIT_EIGHTHS,
  SET_HEADER_BYTES,
  SET_PIECE_ENTRIES,
  setAdd,
  setAddBatch,
  setDirectoryIndex,
  setHas,
  setHasBatch,
  setMove,
} from './nullifier-set'
export { setCheck } from './nullifier-snapshot'
export {
  COMPACT_AT,
  NULLIFIER_OUT_AT,
  prove,
  RECORD_BYTES,
  STORED_AT,
  STORED_CHARACTERS,
  verifyBatch,
} from './payment-proof'
export { sha256, sha256Batch32, sha256Batch64, sha256Begin, sha256End, sha256Update } from './sha256'
