/** Addresses of programs that pages start, for browsers that ask for a policy (Trusted Types). @module */

/** Not in every browser. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string }
}

/** The policy `assay` of a page lets the one program start that is asked for here; a policy can be made once. */
export const allowedProgram = (address: string): string => {
  const { trustedTypes } = globalThis as typeof globalThis & { trustedTypes?: TrustedTypes }
  const createScriptURL = (url: string): string => {
    if (url !== address) throw new TypeError(`${url} is no program of this page`)
    return url
  }
  return trustedTypes?.createPolicy('assay', { createScriptURL }).createScriptURL(address) ?? address
}
