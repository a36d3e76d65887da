/** The parts of snarkjs 0.7.6 and of its curve library that are used here; neither ships types. */
declare module 'snarkjs' {
  /** A path, or bytes in memory. An output is written into `data`. */
  type FileOrMemory = string | { type: 'mem'; data?: Uint8Array }

  interface Logger {
    debug(message: string): void
    info(message: string): void
    warn(message: string): void
    error(message: string): void
  }

  interface Groth16Proof {
    pi_a: string[]
    pi_b: string[][]
    pi_c: string[]
    protocol: string
    curve: string
  }

  interface Groth16Result {
    proof: Groth16Proof
    publicSignals: string[]
  }

  interface CurveHandle {
    terminate(): Promise<void>
  }

  const curves: { getCurveFromName(name: string, options?: { singleThread?: boolean }): Promise<CurveHandle> }

  const powersOfTau: {
    newAccumulator(
      curve: CurveHandle,
      power: number,
      output: FileOrMemory,
      logger?: Logger,
    ): Promise<Uint8Array>
    contribute(
      old: FileOrMemory,
      next: FileOrMemory,
      name: string,
      entropy: string,
      logger?: Logger,
    ): Promise<Uint8Array>
    /** Puts in a number that follows from a public value, hashed 2^doublings times. */
    beacon(
      old: FileOrMemory,
      next: FileOrMemory,
      name: string,
      valueHex: string,
      doublings: number,
    ): Promise<Uint8Array>
    preparePhase2(old: FileOrMemory, next: FileOrMemory, logger?: Logger): Promise<void>
    verify(ptau: FileOrMemory, logger?: Logger): Promise<boolean>
  }

  const zKey: {
    newZKey(
      r1cs: FileOrMemory,
      ptau: FileOrMemory,
      output: FileOrMemory,
      logger?: Logger,
    ): Promise<Uint8Array | -1>
    contribute(
      old: FileOrMemory,
      next: FileOrMemory,
      name: string,
      entropy: string,
      logger?: Logger,
    ): Promise<Uint8Array>
    verifyFromR1cs(
      r1cs: FileOrMemory,
      ptau: FileOrMemory,
      zkey: FileOrMemory,
      logger?: Logger,
    ): Promise<boolean>
    exportVerificationKey(zkey: FileOrMemory, logger?: Logger): Promise<object>
  }

  const groth16: {
    prove(zkey: FileOrMemory, witness: FileOrMemory, logger?: Logger): Promise<Groth16Result>
    fullProve(input: object, wasm: FileOrMemory, zkey: FileOrMemory): Promise<Groth16Result>
    verify(
      verificationKey: object,
      publicSignals: readonly string[],
      proof: object,
      logger?: Logger,
    ): Promise<boolean>
  }
}
