/** The built module of wasmcurves 0.2.2; it ships no types. */
declare module 'wasmcurves/build/bn128_wasm.js' {
  const bn128: {
    /** The WebAssembly module in base64; it imports its memory. */
    code: string
  }
  // biome-ignore lint/style/noDefaultExport: this is how a CommonJS module is seen
  export default bn128
}
