/** The subcommand `assay verify-evidence`, without what does its work: that is loaded when it is used. @module */
import { Command } from 'commander'
import type { Flags } from './verify-evidence.ts'

/** Exit status of a call that says nothing of the evidence. */
const EXIT_UNKNOWN = 2

const HELP = `
FILE is what GET /api/export/evidence answered, in any of its formats. The keys are what the service publishes at
/.well-known/jwks.json; without them the file is only checked against itself. With --pq-keys, what it publishes at
/.well-known/jwks-pq.json, the log's own ML-DSA-44 cosignature of the tree must hold, too. With --witnesses the checkpoint of the tree must meet
that policy file, or have been cosigned by all whose verifier keys stand there, one a line.

Exit status: 0 the evidence holds; 1 it does not; 2 it could not be checked.

Examples:
  $ curl -o jwks.json https://assay.example/.well-known/jwks.json
  $ curl -o jwks-pq.json https://assay.example/.well-known/jwks-pq.json
  $ npx assay verify-evidence --keys jwks.json --pq-keys jwks-pq.json evidence.zip
`

/** `assay verify-evidence FILE`. */
export const verifyEvidenceCommand = (): Command =>
  new Command('verify-evidence')
    .description('verify an export of evidence offline')
    .argument('<file>', 'the export; - reads it from standard input (no archive)')
    .option('--keys <file>', 'public keys of the service (JWK set)')
    .option('--pq-keys <file>', 'its post-quantum keys (JWK set), for the cosignature of the log')
    .option(
      '--witnesses <file>',
      'witnesses that must have cosigned the tree: a C2SP tlog-policy, or verifier keys',
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_UNKNOWN))
    .action(async (file: string, flags: Flags) =>
      (await import('./verify-evidence.ts')).verifyFile(file, flags),
    )
