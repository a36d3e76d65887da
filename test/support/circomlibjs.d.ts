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

  export function buildPoseidon(): Promise<CircomPoseidon>
}
