/** The part of the package ndef that tests use; it ships no types. */
declare module 'ndef' {
  interface NdefRecord {
    tnf: number
    type: string
    payload: number[]
    /** Of a URI record: the whole address. */
    value?: string
  }
  const ndef: {
    decodeMessage(bytes: number[]): NdefRecord[]
    encodeMessage(records: NdefRecord[]): number[]
  }
  export = ndef
}
