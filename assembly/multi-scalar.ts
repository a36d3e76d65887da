/**
 * Σ scalar · base for bases that are known beforehand: Pippenger's buckets over signed windows of the scalars, with a
 * table of each base times 2^(window bits · groups · j), so that many windows share one set of buckets.
 * @module
 */
import { add, elementBytes, equals, isExtension, isZero, reduce } from './base-field'
import { FROM_WORDS, multiply } from './base-kernels'
import { BATCH_PAIRS, doublePoints, LEFT, TARGET } from './batch-addition'
import { sumLists } from './bucket-sums'
import { addProjective, doubleTimes, POINT_BYTES, setInfinity, weightedSum } from './projective'

const SCALAR_BYTES: usize = 32
/** Bits of a scalar below r, and one for the carry of the highest digit. */
const DIGITS_BITS: i32 = 255

/** Largest window, which bounds the buckets: 2^(bits − 1). */
export const LARGEST_WINDOW_BITS: i32 = 14
const BUCKETS: usize = memory.data(144 * 8192, 16)
const BOUNDS: usize = memory.data(4 * 8192 + 16, 16)
const LINES: usize = memory.data(144 * 512, 16)
const LINE_ADDRESSES: usize = memory.data(4 * 16384, 16)
const LINE_BOUNDS: usize = memory.data(4 * 512, 16)
const GROUP_SUM: usize = memory.data(224, 16)
const COLUMN_SUM: usize = memory.data(224, 16)

@inline
function pointBytes<F>(): usize {
  return 2 * elementBytes<F>()
}

/** How many windows cover a scalar. */
export function windowsOf(bits: i32): i32 {
  return (DIGITS_BITS + bits - 1) / bits
}

/** Reads a point of a file: little-endian coordinates times 2^256, at `source`. */
function readPoint<F>(target: usize, source: usize): void {
  const parts: i32 = isExtension<F>() ? 4 : 2
  for (let part = 0; part < parts; part++, target += 36, source += 32) {
    for (let i: usize = 0; i < 9; i++) {
      const bit = 29 * i
      // The highest limb starts in the last word.
      const byte = min<usize>(bit >> 3, 24)
      store<u32>(target + 4 * i, <u32>(load<u64>(source + byte) >> (bit - 8 * byte)) & 0x1fffffff)
    }
    multiply(target, target, FROM_WORDS)
    reduce<u32>(target)
  }
}

/** Reads `count` points of a file, none of them infinity, into the beginning of a table. */
export function readPoints<F>(table: usize, source: usize, count: i32): void {
  for (; count > 0; count--, table += pointBytes<F>(), source += isExtension<F>() ? 128 : 64) {
    readPoint<F>(table, source)
  }
}

/** Points that are doubled together begin at `points`, in place. */
function doubleAll<F>(points: usize, count: i32): void {
  for (let from = 0; from < count; from += BATCH_PAIRS) {
    const taken = min(BATCH_PAIRS, count - from)
    const rounded = (taken + 3) & ~3
    for (let i = 0; i < rounded; i++) {
      const point = <u32>(points + pointBytes<F>() * (from + min(i, taken - 1)))
      store<u32>(LEFT + 4 * i, point)
      store<u32>(TARGET + 4 * i, point)
    }
    doublePoints<F>(rounded)
  }
}

/** Fills a table of `entries` multiples of `count` points, each 2^`doublings` times the one before. */
export function fillTable<F>(table: usize, count: i32, entries: i32, doublings: i32): void {
  const row = pointBytes<F>() * count
  for (let entry = 1; entry < entries; entry++) {
    const next = table + row
    memory.copy(next, table, row)
    for (let i = 0; i < doublings; i++) doubleAll<F>(next, count)
    for (let at = next; at < next + row; at += elementBytes<F>()) reduce<F>(at)
    table = next
  }
}

/** Signed digits of a scalar, −2^(bits − 1) < digit ≤ 2^(bits − 1), two bytes each. */
function writeDigits(digits: usize, scalar: usize, bits: i32, windows: i32): void {
  const half = 1 << (bits - 1)
  let carry: i32 = 0
  for (let window = 0; window < windows; window++) {
    const bit = bits * window
    const byte = min(bit >> 3, 24)
    const shift = bit - 8 * byte
    const word = shift < 64 ? load<u64>(scalar + byte) >> shift : 0
    let digit = <i32>(word & ((1 << bits) - 1)) + carry
    carry = digit > half ? 1 : 0
    digit -= carry << bits
    store<i16>(digits + 2 * window, <i16>digit)
  }
}

/** Sorts what one set of buckets sums: counts first, then places. The windows are `group`, `group` + `step` … */
function sortDigits<F>(
  count: i32,
  table: usize,
  digits: usize,
  windows: i32,
  group: i32,
  step: i32,
  buckets: i32,
  addresses: usize,
): void {
  memory.fill(BOUNDS, 0, 4 * <usize>buckets + 8)
  for (let window = group; window < windows; window += step) {
    for (let i = 0; i < count; i++) {
      const digit = <i32>load<i16>(digits + 2 * (<usize>i * windows + window))
      if (digit == 0) continue
      const at = BOUNDS + 4 * <usize>abs(digit) + 4
      store<u32>(at, load<u32>(at) + 1)
    }
  }
  // Bucket i, from 1 on, begins at BOUNDS[i] when all of its points are placed.
  let sum: u32 = 0
  for (let i = 1; i <= buckets + 1; i++) {
    sum += load<u32>(BOUNDS + 4 * i)
    store<u32>(BOUNDS + 4 * i, sum)
  }
  let row = table
  for (let window = group; window < windows; window += step, row += pointBytes<F>() * count) {
    for (let i = 0; i < count; i++) {
      const digit = <i32>load<i16>(digits + 2 * (<usize>i * windows + window))
      if (digit == 0) continue
      const at = BOUNDS + 4 * <usize>abs(digit)
      const place = load<u32>(at)
      store<u32>(at, place + 1)
      store<u32>(addresses + 4 * <usize>place, <u32>(row + pointBytes<F>() * i) | (digit < 0 ? 1 : 0))
    }
  }
}

@inline
function isEmpty<F>(bucket: usize): bool {
  return isZero<F>(bucket) && isZero<F>(bucket + elementBytes<F>())
}

/**
 * GROUP_SUM = Σ i · bucket i, i from 1 on. With i = row · width + column, that is width · Σ row · (sum of its buckets) and
 * Σ column · (sum of its buckets).
 */
function sumBuckets<F>(buckets: i32, bits: i32): void {
  const columnBits = bits >> 1
  const width = 1 << columnBits
  const rows = (buckets >> columnBits) + 1
  let address = LINE_ADDRESSES
  let bound = LINE_BOUNDS
  for (let line = 0; line < rows + width; line++) {
    store<u32>(bound, <u32>((address - LINE_ADDRESSES) >> 2))
    bound += 4
    const isRow = line < rows
    const first = isRow ? line << columnBits : line - rows
    const last = min(buckets, isRow ? first + width - 1 : buckets)
    for (let i = first; i <= last; i += isRow ? 1 : width) {
      const bucket = BUCKETS + pointBytes<F>() * <usize>(i - 1)
      if (i == 0 || isEmpty<F>(bucket)) continue
      store<u32>(address, <u32>bucket)
      address += 4
    }
  }
  store<u32>(bound, <u32>((address - LINE_ADDRESSES) >> 2))
  sumLists<F>(LINE_ADDRESSES, LINE_BOUNDS, rows + width, LINES)
  weightedSum<F>(GROUP_SUM, LINES, rows)
  doubleTimes<F>(GROUP_SUM, columnBits)
  weightedSum<F>(COLUMN_SUM, LINES + pointBytes<F>() * rows, width)
  addProjective<F>(GROUP_SUM, GROUP_SUM, COLUMN_SUM)
}

/**
 * result = Σ scalar · base, projective.
 * @param count how many bases the table has
 * @param table filled by fillTable with ⌈windows / groups⌉ entries and bits · groups doublings
 * @param scalars 32 bytes each, least first, below r
 * @param numbers which scalar belongs to each base, four bytes each
 * @param room for the digits, 2 bytes for each base and window, then 4 bytes as often
 */
export function multiScalar<F>(
  result: usize,
  count: i32,
  table: usize,
  bits: i32,
  groups: i32,
  scalars: usize,
  numbers: usize,
  room: usize,
): void {
  const windows = windowsOf(bits)
  const buckets = 1 << (bits - 1)
  const digits = room
  const addresses = room + ((2 * <usize>count * windows + 15) & ~15)
  for (let i = 0; i < count; i++) {
    const scalar = scalars + SCALAR_BYTES * <usize>load<u32>(numbers + 4 * i)
    writeDigits(digits + 2 * <usize>(i * windows), scalar, bits, windows)
  }
  setInfinity<F>(result)
  for (let group = groups - 1; group >= 0; group--) {
    doubleTimes<F>(result, bits)
    sortDigits<F>(count, table, digits, windows, group, groups, buckets, addresses)
    sumLists<F>(addresses, BOUNDS, buckets, BUCKETS)
    sumBuckets<F>(buckets, bits)
    addProjective<F>(result, result, GROUP_SUM)
  }
}
