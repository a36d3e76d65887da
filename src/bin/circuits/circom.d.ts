/** The parts of circom2 0.2.23 that are used here; it ships no types. */
declare module 'circom' {
  interface Bindings {
    /** Ends what runs by throwing. */
    exit(code: number): never
  }

  export const bindings: Bindings

  export class CircomRunner {
    constructor(options: {
      args: readonly string[]
      env: Readonly<Record<string, string | undefined>>
      /** Directories, by the names under which the compiler finds them. */
      preopens: Readonly<Record<string, string>>
      bindings: Bindings & { fs: typeof import('node:fs') }
    })
    /** @throws when the compiler ends with anything but 0; it says why on standard output and standard error */
    execute(program: Uint8Array): Promise<unknown>
  }
}
