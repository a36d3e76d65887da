/** The subcommand `assay verify-proof`, without what does its work: that is loaded when it is used. @module */
import { Command, Option } from 'commander'
import type { Flags } from './verify-proof.ts'

/** Exit status of a call that says nothing of a proof. */
const EXIT_UNKNOWN = 2

const HELP = `
FILE holds the answer of a route that makes proofs (such as POST /v1/proofs/generate or /verify), a proof as snarkjs
writes it, or the text zk1.…

Exit status: 0 the proof is valid and the file agrees with it; 1 not; 2 it could not be checked.

Examples:
  $ npx assay verify-proof answer.json
  $ npx assay verify-proof --circuit yesno --public public.json proof.json
  $ npx assay verify-proof --issuer-keys issuer-keys.json --issuers org_01… --challenge challenge.json \\
      --status-list list.jwt --jwks jwks.json --service https://assay.example answer.json
  $ npx assay verify-proof --key verification_key.json --public public.json proof.json
`

/** `assay verify-proof FILE`. */
export const verifyProofCommand = (): Command =>
  new Command('verify-proof')
    .description('verify a zero-knowledge proof offline')
    .argument('<file>', 'the proof; - reads it from standard input')
    .option('--circuit <id>', 'its circuit, if the file does not name it')
    .option('--public <file>', 'its public signals, if they are not in the file')
    .option('--key <file>', 'verification key (JSON of snarkjs) to use instead of the shipped one')
    .addOption(new Option('--circuits-dir <directory>', 'keys of another ceremony').env('CIRCUITS_DIR'))
    .option('--expect <json>', 'further expectations, such as {"nonce": "n-1"}; @FILE reads them from a file')
    .option(
      '--issuer-keys <file>',
      'verify a proof that somebody else made: /.well-known/issuer-keys of the issuing service',
    )
    .option(
      '--issuers <ids>',
      'organisations of which one must have issued what it is about, with commas between',
    )
    .option('--challenge <file>', 'the challenge that it must answer, instead of --expect')
    .option(
      '--status-list <file>',
      'the status list of its status, from /status/{list}; with --jwks and --service',
    )
    .option('--jwks <file>', 'keys that the status list is signed with, from /.well-known/jwks.json')
    .option('--service <url>', 'address of the issuing service')
    .option('--seen <file>', 'what proofs accepted before use up: the lines `uses` that were printed')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_UNKNOWN))
    .action(async (file: string, flags: Flags) => (await import('./verify-proof.ts')).verifyFile(file, flags))
