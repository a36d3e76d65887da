/** Reads the size of a circuit out of its constraints. @module */
import { readFile } from 'node:fs/promises'
import { readSection } from '../../circuits/artifacts/key-files.ts'

const R1CS_HEADER_SECTION = 1
/** After the prime with its length: four counts of wires, and the number of labels, of 64 bits. */
const CONSTRAINTS_OFFSET = 4 * 4 + 8

/** @returns how many constraints an r1cs has */
export const readConstraints = async (r1cs: string): Promise<number> => {
  const header = readSection(await readFile(r1cs), R1CS_HEADER_SECTION)
  const primeBytes = header.readUInt32LE(0)
  return header.readUInt32LE(4 + primeBytes + CONSTRAINTS_OFFSET)
}
