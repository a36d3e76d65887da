/**
 * Sums of many lists of points: pairs within each list are added round by round, all lists together, so that one
 * inversion serves many of them.
 * @module
 */
import { elementBytes } from './base-field'
import { addPairs, BATCH_PAIRS, copyPoint, LEFT, RIGHT, TARGET } from './batch-addition'

/** Most points that one pass adds up; what is longer is taken in pieces. */
const PASS_POINTS: u32 = 8192
/** Sums under way: one for each pair of a pass, and for what a batch repeats. */
const POOL: usize = memory.data(144 * (8192 + 256), 16)

/** The lists of a pass: where each begins, its length, and where its sum goes. */
const STARTS: usize = memory.data(4 * 8192, 16)
const COUNTS: usize = memory.data(4 * 8192, 16)
const SUMS: usize = memory.data(4 * 8192, 16)

let lists: usize = 0
let pairs: i32 = 0
let pool: usize = POOL

/** Adds the pairs that were collected; the last one is repeated to fill four lanes. */
function flush<F>(): void {
  if (pairs == 0) return
  for (; (pairs & 3) != 0; pairs++) {
    const at = 4 * <usize>pairs
    store<u32>(LEFT + at, load<u32>(LEFT + at - 4))
    store<u32>(RIGHT + at, load<u32>(RIGHT + at - 4))
    store<u32>(TARGET + at, <u32>pool)
    pool += 2 * elementBytes<F>()
  }
  addPairs<F>(pairs)
  pairs = 0
}

/** Collects the pairs of a list, and puts the addresses of their sums in the place of its points. @returns how many */
function halve<F>(start: usize, count: u32): u32 {
  let to = start
  let from = start
  for (const end = start + 8 * <usize>(count >> 1); from < end; from += 8, to += 4) {
    const at = 4 * <usize>pairs
    store<u32>(LEFT + at, load<u32>(from))
    store<u32>(RIGHT + at, load<u32>(from, 4))
    store<u32>(TARGET + at, <u32>pool)
    store<u32>(to, <u32>pool)
    pool += 2 * elementBytes<F>()
    if (++pairs == BATCH_PAIRS) flush<F>()
  }
  if ((count & 1) != 0) store<u32>(to, load<u32>(from))
  return (count + 1) >> 1
}

/** Adds up the lists of a pass. */
function sumPass<F>(): void {
  for (let isDone = false; !isDone; ) {
    isDone = true
    for (let list: usize = 0; list < lists; list++) {
      const count = load<u32>(COUNTS + 4 * list)
      if (count < 2) continue
      store<u32>(COUNTS + 4 * list, halve<F>(<usize>load<u32>(STARTS + 4 * list), count))
      isDone = false
    }
    flush<F>()
  }
  for (let list: usize = 0; list < lists; list++) {
    copyPoint<F>(<usize>load<u32>(SUMS + 4 * list), <usize>load<u32>(STARTS + 4 * list), 0)
  }
  lists = 0
  // How far it went depends on the scalars.
  pool = POOL
}

/**
 * Sums of `count` lists. The addresses of list i are those at `bounds[i]` … `bounds[i + 1]` of `addresses` (as LEFT and
 * RIGHT take them); they are overwritten. The sum goes to `sums` + i points, infinity for an empty list.
 */
export function sumLists<F>(addresses: usize, bounds: usize, count: i32, sums: usize): void {
  let room = PASS_POINTS
  lists = 0
  for (let i = 0; i < count; i++, sums += 2 * elementBytes<F>()) {
    let start = load<u32>(bounds)
    const end = load<u32>(bounds, 4)
    bounds += 4
    if (start == end) {
      memory.fill(sums, 0, 2 * elementBytes<F>())
      continue
    }
    for (let isContinued = false; start < end; isContinued = true) {
      // A list that goes on has its sum so far in the place of a point that was added already.
      if (isContinued) store<u32>(addresses + 4 * <usize>--start, <u32>sums)
      const taken = min(end - start, room)
      store<u32>(STARTS + 4 * lists, <u32>(addresses + 4 * <usize>start))
      store<u32>(COUNTS + 4 * lists, taken)
      store<u32>(SUMS + 4 * lists, <u32>sums)
      lists++
      start += taken
      room -= taken
      if (room < 2) {
        sumPass<F>()
        room = PASS_POINTS
      }
    }
  }
  sumPass<F>()
}
