/**
 * Groth16 proofs (Groth, "On the size of pairing-based non-interactive arguments", 2016, section 3.2) by the WebAssembly
 * prover: one instance for a proving key, with tables of multiples of the key's points. Tables hold public points only;
 * after each proof every byte of the instance's memory that depends on the witness is overwritten. Numbers that JavaScript
 * held (blinding factors, input texts) are left to its garbage collector, which can't be told to overwrite them. Works
 * in Node, browsers and workers, on one thread.
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
import { type Bases, joinBases, type Matrix, type ProvingKey } from './proving-key.ts'
import { inverse, power, randomScalar, rootOfUnity, SCALAR_BYTES, scalarBytes, scalarOf } from './scalars.ts'
import { planWindows, type WindowPlan, windowsOf } from './window-plan.ts'

const ELEMENT_BYTES = 36
const SMALLEST_DOMAIN = 16
/** About how many wires of a circuit are not bits. */
const FULL_SHARE = 0.7
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

export interface ProvingCore {
  /** Bytes of the tables, and of all memory that it keeps. */
  readonly tableBytes: number
  readonly memoryBytes: number
  /**
   * Makes a proof, blinded anew each time. Whether the witness satisfies the constraints is not looked at: a proof of a
   * false one is none.
   * @param witness 32 bytes a wire, the lowest first, canonical; the first wire is 1
   * @throws RangeError for another number of wires
   */
  prove(witness: Uint8Array): ProofPoints
}

/** A sum that a proof needs: its bases, and the table of their multiples. */
interface Sum {
  readonly bases: Bases
  readonly isG2: boolean
  /** About how many of its scalars are not small. */
  readonly full: number
}

interface Table {
  readonly isG2: boolean
  readonly count: number
  readonly plan: WindowPlan
  readonly address: number
  readonly bytes: number
  /** Address of the scalars' numbers. */
  readonly numbers: number
}

/** Where the scalars stand: the wires, the quotient's values, then r, s, 1 and −rs. */
const scalarPlaces = ({ wires, domain }: ProvingKey) => {
  const end = wires + domain
  return { quotient: wires, r: end, s: end + 1, one: end + 2, minusRs: end + 3, count: end + 4 }
}

/** What is summed up: A + α + rδ, then B + β + sδ in both groups, then C and the quotient − rsδ. */
const sumsOf = (key: ProvingKey): Sum[] => {
  const { quotient, r, s, one, minusRs } = scalarPlaces(key)
  const full = FULL_SHARE * key.wires
  const single = (points: Uint8Array<ArrayBuffer>, number: number): Bases => ({ points, numbers: [number] })
  const h = { ...key.h, numbers: key.h.numbers.map((number) => number + quotient) }
  return [
    { bases: joinBases([key.a, single(key.delta1, r), single(key.alpha1, one)]), isG2: false, full },
    { bases: joinBases([key.b1, single(key.delta1, s), single(key.beta1, one)]), isG2: false, full },
    { bases: joinBases([key.b2, single(key.delta2, s), single(key.beta2, one)]), isG2: true, full },
    { bases: joinBases([key.c, h, single(key.delta1, minusRs)]), isG2: false, full: full + key.domain },
  ]
}

const words = (values: Uint32Array | readonly number[]): Uint8Array =>
  new Uint8Array(Uint32Array.from(values).buffer)

/** Fills the tables, each with the part of the budget that its points are of all. */
const putTables = (
  { call, layout }: ProverInstance,
  { reserve, put, briefly }: Allocator,
  sums: readonly Sum[],
  budgetBytes: number,
): Table[] => {
  const pointBytes = ({ isG2 }: Sum) => (isG2 ? layout.G2_BYTES : layout.G1_BYTES)
  const rowBytes = (sum: Sum) => sum.bases.numbers.length * pointBytes(sum)
  const allBytes = sums.reduce((total, sum) => total + rowBytes(sum), 0)
  return sums.map((sum) => {
    const { bases, isG2 } = sum
    const count = bases.numbers.length
    const budget = (budgetBytes * rowBytes(sum)) / allBytes
    const full = Math.min(sum.full, count)
    const plan = planWindows(count, full, pointBytes(sum), budget, layout.LARGEST_WINDOW_BITS)
    const bytes = rowBytes(sum) * plan.entries
    const address = reserve(bytes + MARGIN_BYTES)
    const numbers = put(words(bases.numbers))
    briefly(() => {
      const prepare = isG2 ? call.prepareG2 : call.prepareG1
      prepare(address, put(bases.points), count, plan.entries, plan.bits * plan.groups)
    })
    return { isG2, count, plan, address, bytes, numbers }
  })
}

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

/**
 * Prepares an instance for a key, which takes from a tenth of a second to a few seconds.
 * @param tableBytes most memory for tables of multiples; less of it makes proofs slower, not wrong
 * @throws RangeError for a key with a domain below 16
 */
export const createProvingCore = (key: ProvingKey, tableBytes: number): ProvingCore => {
  const { wires, domain } = key
  if (domain < SMALLEST_DOMAIN)
    throw new RangeError(`the key's domain is ${domain}, below ${SMALLEST_DOMAIN}`)
  const instance = instantiateProver()
  const { call, layout, memory } = instance
  const pristine = pristineData(instance)
  const allocator = createAllocator(instance)
  const tables = putTables(instance, allocator, sumsOf(key), tableBytes)
  const matrices = key.matrices.map((matrix) => putMatrix(instance, allocator, matrix))
  const roots = putRoots(instance, allocator, domain)
  const secrets = reserveSecrets(instance, allocator, key, tables)
  const places = scalarPlaces(key)
  const bytes = new Uint8Array(memory.buffer)
  const scalarAt = (place: number): number => secrets.scalars + SCALAR_BYTES * place

  const putScalars = (witness: Uint8Array): void => {
    bytes.set(witness, secrets.scalars)
    const [r, s] = [randomScalar(), randomScalar()]
    bytes.set(scalarBytes(r), scalarAt(places.r))
    bytes.set(scalarBytes(s), scalarAt(places.s))
    bytes.set(scalarBytes(1n), scalarAt(places.one))
    bytes.set(scalarBytes(FIELD_MODULUS - ((r * s) % FIELD_MODULUS)), scalarAt(places.minusRs))
  }

  const computeQuotient = (): void => {
    call.readScalars(secrets.witness, secrets.scalars, wires)
    matrices.forEach(({ bounds, coefficients, signals }, i) => {
      const target = secrets.values + ELEMENT_BYTES * domain * i
      call.evaluateRows(target, domain, bounds, coefficients, signals, secrets.witness)
    })
    call.quotient(scalarAt(places.quotient), secrets.values, domain, roots)
  }

  const computeSums = (): [a: number, b1: number, b2: number, c: number] => {
    const results = tables.map(({ isG2, count, plan, address, numbers }, i) => {
      const result = secrets.results + layout.POINT_BYTES * i
      const sum = isG2 ? call.sumG2 : call.sumG1
      sum(result, count, address, plan.bits, plan.groups, secrets.scalars, numbers, secrets.digits)
      return result
    })
    return results as [number, number, number, number]
  }

  const read = (write: typeof call.writeG1, point: number, coordinates: number): bigint[] => {
    write(secrets.output, point)
    return Array.from({ length: coordinates }, (_, i) => {
      const at = secrets.output + SCALAR_BYTES * i
      return scalarOf(bytes.subarray(at, at + SCALAR_BYTES))
    })
  }

  return {
    tableBytes: tables.reduce((sum, table) => sum + table.bytes, 0),
    memoryBytes: bytes.length,
    prove(witness) {
      if (witness.length !== SCALAR_BYTES * wires)
        throw new RangeError(`the witness has ${witness.length} bytes, not ${SCALAR_BYTES * wires}`)
      try {
        putScalars(witness)
        computeQuotient()
        const [a, b1, b2, c] = computeSums()
        call.blind(c, a, scalarAt(places.s), b1, scalarAt(places.r))
        return { a: read(call.writeG1, a, 2), b: read(call.writeG2, b2, 4), c: read(call.writeG1, c, 2) }
      } finally {
        bytes.fill(0, secrets.start, secrets.start + secrets.bytes)
        bytes.set(pristine)
      }
    },
  }
}
