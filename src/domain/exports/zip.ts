/** Evidence as a ZIP archive, made while it is read. @module */
import type { Readable } from 'node:stream'
import { ZipFile } from 'yazl'

export const EVIDENCE_ENTRY = 'evidence.ndjson'
export const INSTRUCTIONS_ENTRY = 'VERIFY.txt'
/** Archives beyond 4 GiB need the larger form, which some older programs can't read. */
const ZIP64_FROM_BYTES = 2 ** 31

const INSTRUCTIONS = `${EVIDENCE_ENTRY} holds evidence in the format that docs/exports.md describes.
Check this archive, or the file in it, without a network connection:

  npx assay verify-evidence FILE --keys jwks.json

jwks.json is what the service publishes at /.well-known/jwks.json. Get it from the service itself, not from whoever
handed you this archive.
`

/**
 * @param evidence lines; it is destroyed when the archive is
 * @param atMostBytes what the lines may come to
 */
export const zipEvidence = (evidence: Readable, at: Date, atMostBytes: number): Readable => {
  const archive = new ZipFile()
  const options = { mtime: at, mode: 0o100644 }
  const forceZip64Format = atMostBytes >= ZIP64_FROM_BYTES
  archive.addReadStream(evidence, EVIDENCE_ENTRY, { ...options, forceZip64Format })
  archive.addBuffer(Buffer.from(INSTRUCTIONS), INSTRUCTIONS_ENTRY, options)
  archive.end()
  const output = archive.outputStream as Readable
  archive.on('error', (error: unknown) => output.destroy(error instanceof Error ? error : undefined))
  evidence.once('error', (error) => output.destroy(error))
  output.once('close', () => evidence.destroy())
  return output
}
