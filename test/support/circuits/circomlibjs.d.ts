/** The part of circomlibjs 0.1.7 that is used here; it ships no types. */
declare module 'circomlibjs' {
  /** An element in Montgomery form. */
  type FieldElement = Uint8Array

  export interface CircomPoseidon {
    (inputs: readonly FieldElement[], initialState?: FieldElement): FieldElement
    F: {
      e(value: bigint): FieldElement
      toObject(element: FieldElement): bigint
    }
  }

  type Point = readonly [x: FieldElement, y: FieldElement]

  export interface CircomEddsa {
    prv2pub(seed: Uint8Array): Point
    signPoseidon(seed: Uint8Array, message: FieldElement): { R8: Point; S: bigint }
    verifyPoseidon(message: FieldElement, signature: { R8: Point; S: bigint }, key: Point): boolean
    F: CircomPoseidon['F']
  }

  export function buildEddsa(): Promise<CircomEddsa>
  export function buildPoseidon(): Promise<CircomPoseidon>
}
