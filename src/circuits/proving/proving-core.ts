/**
 * Groth16 proofs (Groth, "On the size of pairing-based non-interactive arguments", 2016, section 3.2) by the WebAssembly
 * prover: one instance for a proving key, with tables of multiples of the key's points. Tables hold public points only;
 * after each proof every byte of the instance's memory that depends on the witness is overwritten, also in those that helped. Numbers that JavaScript
 * held (blinding factors, input texts) are left to its garbage collector, which can't be told to overwrite them. Works
 * in Node, browsers and workers; on one thread, or with others' help.
 * @module
 */
import { FIELD_MODULUS } from '../../core/field.ts'
import {
  type Allocator,
  aligned,
  createAllocator,
  instantiateProver,
  type ProverInstance,
} from './proving-instance.ts'
import type { Matrix, ProvingKey } from './proving-key.ts'
import { inverse, power, randomScalar, rootOfUnity, SCALAR_BYTES, scalarBytes, scalarOf } from './scalars.ts'
import { type Sum, scalarPlaces, sumsOf } from './tables.ts'
import { createTakenSums, endHelp, isHelpEnded, reserveSum, type TakenSums } from './taken-sums.ts'
import { type WindowPlan, windowsOf } from './window-plan.ts'

const ELEMENT_BYTES = 36
const SMALLEST_DOMAIN = 16
/** Bytes of a digit, and of the address that it becomes. */
const DIGIT_BYTES = 2 + 4
/** Vectors are read whole, at the end of a table too. */
const MARGIN_BYTES = 64
const MOST_COORDINATES = 4

/** The affine points of a proof, coordinates as integers. */
export interface ProofPoints {
  readonly a: readonly bigint[]
  /** x0, x1, y0, y1 of x = x0 + x1 · u. */
  readonly b: readonly bigint[]
  readonly c: readonly bigint[]
}

/** A proof that was given up, since whoever asked for it asked for that. */
export class ProofStopped extends Error {}

export interface ProvingCore {
  /** Bytes of the tables, and of all memory that it keeps. */
  readonly tableBytes: number
  readonly memoryBytes: number
  /**
   * Makes a proof, blinded anew each time. Whether the witness satisfies the constraints is not looked at: a proof of a
   * false one is none.
   * @param witness 32 bytes a wire, the lowest first, canonical; the first wire is 1
   * @param isStopped asked before each sum but the last
   * @throws RangeError for another number of wires, ProofStopped
   */
  prove(witness: Uint8Array, isStopped?: () => boolean): ProofPoints
  /** As prove, with sums that others make meanwhile; alone where none come. Nothing else may be asked for until then. */
  proveHelped(witness: Uint8Array, helpers: Helpers, isStopped?: () => boolean): Promise<ProofPoints>
  /**
   * Makes sums of a proof that another core makes, as long as there are some to take.
   * @param scalars that it showed; overwritten
   * @param made takes each sum, as a projective point
   * @throws RangeError for another number of scalars
   */
  help(
    scalars: Uint8Array,
    taken: TakenSums,
    made: (sum: number, point: Uint8Array<ArrayBuffer>) => void,
  ): void
}

const never = (): boolean => false

/** Others who may make sums of a proof. */
export interface Helpers {
  /** Shows them what to do. @param copyScalars makes a copy that is theirs, to be overwritten after use */
  ask(copyScalars: () => Uint8Array<ArrayBuffer>, taken: TakenSums): void
  /** The sum that one of them claimed, to be overwritten after use; undefined when it won't come. */
  sum(number: number): Promise<Uint8Array | undefined>
}

/** The sums of a proof by number. */
const SUM = { a: 0, b1: 1, b2: 2, c: 3 } as const
/** What the thread that makes a proof begins with: C needs the quotient, which only it has. */
const OWN_ORDER = [SUM.c, SUM.a, SUM.b1, SUM.b2] as const
/** A proof of which only the last sum is missing is made nevertheless. @throws ProofStopped */
const heed = (isStopped: () => boolean, sum: number): void => {
  if (sum !== OWN_ORDER.at(-1) && isStopped()) throw new ProofStopped()
}

/** What those who help begin with. */
const HELP_ORDER = [SUM.b2, SUM.b1, SUM.a] as const

interface Table {
  readonly isG2: boolean
  readonly count: number
  readonly plan: WindowPlan
  readonly address: number
  /** Address of the scalars' numbers. */
  readonly numbers: number
}

const words = (values: Uint32Array | readonly number[]): Uint8Array =>
  new Uint8Array(Uint32Array.from(values).buffer)

/** Puts the tables into memory: those that were made, or ones that it makes. */
const putTables = (
  { call, memory }: ProverInstance,
  { reserve, put, briefly }: Allocator,
  sums: readonly Sum[],
  made?: Uint8Array,
): Table[] =>
  sums.map(({ bases, isG2, count, plan, offset, bytes }) => {
    const address = reserve(bytes + MARGIN_BYTES)
    const numbers = put(words(bases.numbers))
    if (made !== undefined) new Uint8Array(memory.buffer).set(made.subarray(offset, offset + bytes), address)
    else
      briefly(() => {
        const prepare = isG2 ? call.prepareG2 : call.prepareG1
        prepare(address, put(bases.points), count, plan.entries, plan.bits * plan.groups)
      })
    return { isG2, count, plan, address, numbers }
  })

const putMatrix = (
  { call }: ProverInstance,
  { reserve, put, briefly }: Allocator,
  { bounds, wires, numbers }: Matrix,
) => {
  const coefficients = reserve(ELEMENT_BYTES * wires.length)
  // From v · 2^512 to v · 2^522; a product in Montgomery form loses 2^261.
  briefly(() => {
    call.readProducts(coefficients, put(numbers), wires.length, put(scalarBytes(power(2n, 271n))))
  })
  return { bounds: put(words(bounds)), signals: put(words(wires)), coefficients }
}

const putRoots = ({ call }: ProverInstance, { reserve, put, briefly }: Allocator, domain: number): number => {
  const roots = reserve(2 * ELEMENT_BYTES * domain)
  const root = rootOfUnity(domain)
  const numbers = [root, inverse(root), rootOfUnity(2 * domain), inverse(BigInt(domain))]
  briefly(() => {
    call.prepareRoots(roots, put(Uint8Array.from(numbers.flatMap((x) => [...scalarBytes(x)]))), domain)
  })
  return roots
}

let pristineCopy: Uint8Array | undefined

/**
 * The module's own data, with which every instance begins: constants, and zeros where calls leave what they worked with.
 * @param instance a new one
 */
const pristineData = ({ layout, memory }: ProverInstance): Uint8Array => {
  pristineCopy ??= new Uint8Array(memory.buffer).slice(0, layout.HEAP)
  return pristineCopy
}

/** Memory for what depends on a witness, in one piece. */
const reserveSecrets = (
  { layout }: ProverInstance,
  { reserve }: Allocator,
  key: ProvingKey,
  tables: readonly Table[],
) => {
  const digits = Math.max(...tables.map(({ count, plan }) => count * windowsOf(plan.bits)))
  const sizes = {
    scalars: SCALAR_BYTES * scalarPlaces(key).count,
    witness: ELEMENT_BYTES * key.wires,
    values: 4 * ELEMENT_BYTES * key.domain,
    digits: DIGIT_BYTES * digits + MARGIN_BYTES,
    results: tables.length * layout.POINT_BYTES,
    output: MOST_COORDINATES * SCALAR_BYTES,
  }
  const bytes = Object.values(sizes).reduce((sum, size) => sum + aligned(size), 0)
  const start = reserve(bytes)
  let next = start
  const place = (size: number) => {
    next += aligned(size)
    return next - aligned(size)
  }
  return {
    start,
    bytes,
    scalars: place(sizes.scalars),
    witness: place(sizes.witness),
    values: place(sizes.values),
    digits: place(sizes.digits),
    results: place(sizes.results),
    output: place(sizes.output),
  }
}

/** The steps of a proof in the memory of an instance of its own. @throws as createProvingCore */
const createSteps = (key: ProvingKey, budgetBytes: number, made?: Uint8Array) => {
  const { wires, domain } = key
  if (domain < SMALLEST_DOMAIN)
    throw new RangeError(`the key's domain is ${domain}, below ${SMALLEST_DOMAIN}`)
  const instance = instantiateProver()
  const { call, layout, memory } = instance
  const pristine = pristineData(instance)
  const allocator = createAllocator(instance)
  const sums = sumsOf(key, layout, budgetBytes)
  const tableBytes = sums.reduce((total, { bytes }) => total + bytes, 0)
  if (made !== undefined && made.length !== tableBytes)
    throw new RangeError(`the tables have ${made.length} bytes, not ${tableBytes}`)
  const tables = putTables(instance, allocator, sums, made)
  const matrices = key.matrices.map((matrix) => putMatrix(instance, allocator, matrix))
  const roots = putRoots(instance, allocator, domain)
  const secrets = reserveSecrets(instance, allocator, key, tables)
  const places = scalarPlaces(key)
  const bytes = new Uint8Array(memory.buffer)
  const scalarAt = (place: number): number => secrets.scalars + SCALAR_BYTES * place
  const resultAt = (sum: number): number => secrets.results + layout.POINT_BYTES * sum

  const read = (write: typeof call.writeG1, sum: number, coordinates: number): bigint[] => {
    write(secrets.output, resultAt(sum))
    return Array.from({ length: coordinates }, (_, i) => {
      const at = secrets.output + SCALAR_BYTES * i
      return scalarOf(bytes.subarray(at, at + SCALAR_BYTES))
    })
  }

  return {
    tableBytes,
    memoryBytes: bytes.length,
    /** Memory for all scalars, and for the point of each sum. */
    scalars: bytes.subarray(secrets.scalars, scalarAt(places.count)),
    pointOf: (sum: number) => bytes.subarray(resultAt(sum), resultAt(sum + 1)),
    putScalars(witness: Uint8Array): void {
      if (witness.length !== SCALAR_BYTES * wires)
        throw new RangeError(`the witness has ${witness.length} bytes, not ${SCALAR_BYTES * wires}`)
      bytes.set(witness, secrets.scalars)
      const [r, s] = [randomScalar(), randomScalar()]
      bytes.set(scalarBytes(r), scalarAt(places.r))
      bytes.set(scalarBytes(s), scalarAt(places.s))
      bytes.set(scalarBytes(1n), scalarAt(places.one))
      bytes.set(scalarBytes(FIELD_MODULUS - ((r * s) % FIELD_MODULUS)), scalarAt(places.minusRs))
    },
    computeQuotient(): void {
      call.readScalars(secrets.witness, secrets.scalars, wires)
      matrices.forEach(({ bounds, coefficients, signals }, i) => {
        const target = secrets.values + ELEMENT_BYTES * domain * i
        call.evaluateRows(target, domain, bounds, coefficients, signals, secrets.witness)
      })
      call.quotient(scalarAt(places.quotient), secrets.values, domain, roots)
    },
    addUp(sum: number): void {
      const { isG2, count, plan, address, numbers } = tables[sum] as Table
      const add = isG2 ? call.sumG2 : call.sumG1
      add(resultAt(sum), count, address, plan.bits, plan.groups, secrets.scalars, numbers, secrets.digits)
    },
    finish(): ProofPoints {
      const [a, b1, c] = [SUM.a, SUM.b1, SUM.c].map(resultAt) as [number, number, number]
      call.blind(c, a, scalarAt(places.s), b1, scalarAt(places.r))
      return {
        a: read(call.writeG1, SUM.a, 2),
        b: read(call.writeG2, SUM.b2, 4),
        c: read(call.writeG1, SUM.c, 2),
      }
    },
    forget(): void {
      bytes.fill(0, secrets.start, secrets.start + secrets.bytes)
      bytes.set(pristine)
    },
  }
}

/**
 * Prepares an instance for a key, which takes from a tenth of a second to a few seconds, and far less where tables were made.
 * @param budgetBytes most memory for tables of multiples; less of it makes proofs slower, not wrong
 * @param made the tables for this key and this budget
 * @throws RangeError for a key with a domain below 16, and for tables of another length
 */
export const createProvingCore = (key: ProvingKey, budgetBytes: number, made?: Uint8Array): ProvingCore => {
  const { tableBytes, memoryBytes, scalars, pointOf, ...steps } = createSteps(key, budgetBytes, made)

  /** Takes what others claimed, and makes what doesn't come. */
  const takeSum = async (sum: number, helpers: Helpers): Promise<void> => {
    const point = await helpers.sum(sum)
    if (point === undefined) return steps.addUp(sum)
    pointOf(sum).set(point)
    point.fill(0)
  }

  return {
    tableBytes,
    memoryBytes,
    prove(witness, isStopped = never) {
      try {
        steps.putScalars(witness)
        steps.computeQuotient()
        for (const sum of OWN_ORDER) {
          heed(isStopped, sum)
          steps.addUp(sum)
        }
        return steps.finish()
      } finally {
        steps.forget()
      }
    },
    async proveHelped(witness, helpers, isStopped = never) {
      const taken = createTakenSums()
      try {
        steps.putScalars(witness)
        helpers.ask(() => scalars.slice() as Uint8Array<ArrayBuffer>, taken)
        steps.computeQuotient()
        const theirs: number[] = []
        for (const sum of OWN_ORDER) {
          heed(isStopped, sum)
          if (reserveSum(taken, sum)) steps.addUp(sum)
          else theirs.push(sum)
        }
        for (const sum of theirs) await takeSum(sum, helpers)
        return steps.finish()
      } finally {
        endHelp(taken)
        steps.forget()
      }
    },
    help(given, taken, made) {
      if (given.length !== scalars.length)
        throw new RangeError(`the scalars have ${given.length} bytes, not ${scalars.length}`)
      try {
        scalars.set(given)
        given.fill(0)
        for (const sum of HELP_ORDER) {
          if (isHelpEnded(taken) || !reserveSum(taken, sum)) continue
          steps.addUp(sum)
          made(sum, pointOf(sum).slice() as Uint8Array<ArrayBuffer>)
        }
      } finally {
        steps.forget()
      }
    },
  }
}
