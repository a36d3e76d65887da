/** Checks evidence in the browser, as the page Verify does, and whose it is and of which window. @module */
import { iso } from '../../../clock.ts'
import { checkEvidence, gapsOf, readEvidence } from '../../check/kinds/evidence.ts'
import { openService } from '../../check/own-service.ts'
import { type Check, conclude, leave, pass, type Report, refuse, visible } from '../../check/report.ts'
import { openCrypto } from '../../crypto/crypto.ts'

/** What was asked of an export. */
export interface Asked {
  readonly organisationId: string
  /** Unix ms, half-open. */
  readonly since: number
  readonly until: number
}

/** What was found. */
export interface Examination {
  readonly report: Report
  /** What the file says of it; undefined: nothing. */
  readonly complete?: boolean
  /** Why rows may be missing. */
  readonly gaps: readonly string[]
  /** Whose evidence it is, where it is another organisation's. */
  readonly foreign?: string
}

const KEYS = leave(
  'Whose keys',
  'This browser took the keys from the service now. Keep /.well-known/jwks.json somewhere else, and check the file with npx assay verify-evidence: then the service can’t change its mind about its keys.',
)

type Header = Readonly<Record<string, unknown>>

const organisationCheck = ({ organisationId }: Header, asked: Asked): Check =>
  organisationId === asked.organisationId
    ? pass('Organisation', `It is of your organisation, ${asked.organisationId}.`)
    : refuse(
        'Organisation',
        'ORGANISATION_MISMATCH',
        `It is of the organisation ${visible(organisationId)}; yours is ${asked.organisationId}.`,
      )

const windowCheck = (header: Header, asked: Asked): Check => {
  const [since, until] = [iso(asked.since), iso(asked.until)]
  return header.since === since && header.until === until
    ? pass('Window', `It is of the window that you asked for, ${since} up to ${until}.`)
    : refuse(
        'Window',
        'WINDOW_MISMATCH',
        `It is of the window ${visible(header.since)} up to ${visible(header.until)}; you asked for ${since} up to ${until}.`,
      )
}

/**
 * @param organisationId of whoever looks at it
 * @param asked where the file is the answer
 * @param tell is told how many bytes were looked at
 */
export const examineEvidence = async (
  file: Blob,
  { organisationId, asked }: { readonly organisationId: string; readonly asked?: Asked },
  tell: (bytes: number) => void,
): Promise<Examination> => {
  const contents = await readEvidence(file, tell)
  const found = await checkEvidence(contents, openService(await openCrypto(globalThis.crypto.subtle)))
  if ('outcome' in contents) return { report: conclude(found), gaps: [] }
  const { header, manifest } = contents
  const { notChecked = [] } = found
  const isOwn = header.organisationId === organisationId
  const report = conclude({
    ...found,
    checks: [
      ...(asked === undefined ? [] : [organisationCheck(header, asked), windowCheck(header, asked)]),
      ...found.checks,
    ],
    meaning: { ...found.meaning, isPlain: found.meaning.isPlain && isOwn },
  })
  return {
    report: {
      ...report,
      checks: [
        ...report.checks,
        KEYS,
        leave('What evidence can’t show', `It does not show ${notChecked.join(', or ')}.`),
      ],
    },
    complete: manifest.complete === true,
    gaps: gapsOf(manifest),
    ...(!isOwn && { foreign: visible(header.organisationId) }),
  }
}
