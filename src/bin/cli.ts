#!/usr/bin/env node
/**
 * `npx assay`: the server and what keeps it running, a payment terminal on the command line, the checks of proofs and of
 * evidence, signed messages of agents, and what watches a log from outside. Each call of the terminal opens the one kept in a state directory, does one thing and lets go of it.
 * @module
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { AmountLimit } from '../protocol/payment-limits.ts'
import { PAYMENT_METHODS, type PaymentMethod } from '../protocol/sync.ts'
import {
  createTerminal,
  journalStorage,
  type PaymentResult,
  recoverJournal,
  type Terminal,
} from '../terminal/node.ts'
import { verifyEvidenceCommand } from './evidence/verify-evidence-command.ts'
import { monitorCommand } from './monitor/monitor-command.ts'
import { operationsCommands } from './operations/operations-commands.ts'
import { verifyProofCommand } from './proofs/verify-proof-command.ts'
import { signEnvelopeCommand } from './sign-envelope-command.ts'
import { witnessCommand } from './witness/witness-command.ts'

/** Exit statuses beside 0: the terminal can't work · the payment or upload was refused. */
const EXIT_FAILED = 1
const EXIT_REFUSED = 3
const SETTINGS = 'terminal.json'
const DEFAULT_STATE = './terminal'
const DEFAULT_URL = 'http://127.0.0.1:8080'

/** Kept in the state directory by `configure`. */
interface Settings {
  url?: string
  apiKey?: string
  merchant?: string
  terminalId?: string
  terminalSecret?: string
  floorLimit?: AmountLimit
  storedSumLimit?: AmountLimit
}

interface SettingFlags extends Settings {
  state: string
}

/** Decimal digits that a number surely keeps (DBL_DIG). */
const MAX_EXACT_DIGITS = 15

const amount = (value: string): number => {
  if (!/^\d+(\.\d+)?$/.test(value))
    throw new InvalidArgumentError('It must be a decimal number such as 12.50.')
  const digits = value.replace('.', '').replace(/^0+/, '').length
  if (digits > MAX_EXACT_DIGITS)
    throw new InvalidArgumentError(`It must have at most ${MAX_EXACT_DIGITS} digits.`)
  return Number(value)
}

const amountLimit = (value: string): AmountLimit => (value === 'none' ? value : amount(value))

const print = (value: unknown): void => console.log(JSON.stringify(value, null, 2))

const kept = (state: string): Settings => {
  try {
    return JSON.parse(readFileSync(join(state, SETTINGS), 'utf8')) as Settings
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    if (error instanceof SyntaxError)
      throw new Error(`${join(state, SETTINGS)} is not JSON: ${error.message}`)
    throw error
  }
}

const settingsOf = ({ state, ...flags }: SettingFlags): Settings => {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined)
  return { ...kept(state), ...Object.fromEntries(given) }
}

/**
 * Leaves out what the environment says where something is kept, and what is empty there: a machine has one ASSAY_API_KEY for all of its
 * programs, and each terminal a key of its own. Says so where it is another one. The secret that is kept is not that of another terminal.
 */
const preferKept = (command: Command): void => {
  const flags = command.opts<SettingFlags>()
  const settings = kept(flags.state)
  const isOther = flags.terminalId !== undefined && flags.terminalId !== settings.terminalId
  for (const option of command.options) {
    const name = option.attributeName() as keyof Settings
    if (command.getOptionValueSource(name) !== 'env') continue
    const isKept = Boolean(settings[name]) && !(isOther && name === 'terminalSecret')
    if (isKept && flags[name] && flags[name] !== settings[name])
      console.error(`${option.envVar} is not used, since another is stored: ${option.long} replaces that.`)
    if (isKept || !flags[name]) command.setOptionValue(name, undefined)
  }
}

const configure = (flags: SettingFlags): void => {
  const file = join(flags.state, SETTINGS)
  mkdirSync(flags.state, { recursive: true, mode: 0o700 })
  // It holds secrets and must never be seen half-written or by others.
  writeFileSync(`${file}.new`, `${JSON.stringify(settingsOf(flags), null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
  console.log(`Settings are kept in ${file}.`)
}

const openTerminal = (flags: SettingFlags): Promise<Terminal> => {
  const { url = DEFAULT_URL, apiKey, merchant, terminalId, terminalSecret, ...limits } = settingsOf(flags)
  if (!apiKey || !merchant) {
    throw new Error(
      'The terminal needs an API key and a merchant: --api-key and --merchant, or once `assay terminal configure`.',
    )
  }
  const { floorLimit, storedSumLimit } = limits
  return createTerminal({
    baseUrl: url,
    apiKey,
    merchantId: merchant,
    terminalId,
    terminalSecret,
    limits: { floorLimit, storedSumLimit },
    storage: journalStorage(flags.state),
  })
}

const withTerminal = async (
  flags: SettingFlags,
  use: (terminal: Terminal) => Promise<void>,
): Promise<void> => {
  const terminal = await openTerminal(flags)
  try {
    await use(terminal)
  } finally {
    await terminal.close()
  }
}

/**
 * Uploads what waits, if the server is there: this process ends, and nobody may open the terminal again for long.
 * @returns what has become of the payment by then
 */
const uploaded = async (terminal: Terminal, result: PaymentResult): Promise<PaymentResult> => {
  if (terminal.pending().count === 0 || !(await terminal.probe())) return result
  await terminal.flush()
  const isIt = ({ transactionId }: { transactionId: string }) => transactionId === result.transactionId
  if (!result.queued || terminal.pending().transactions.some(isIt)) return result
  const rejected = terminal.status().rejected.find(isIt)
  if (!rejected) return { ...result, synced: true, queued: false }
  return { ...result, accepted: false, queued: false, error: `${rejected.code}: ${rejected.message}` }
}

interface PayFlags extends SettingFlags {
  cardToken: string
  amount: number
  currency?: string
  customer?: string
  method?: PaymentMethod
  transaction?: string
}

const pay = ({
  cardToken,
  amount,
  currency,
  customer,
  method,
  transaction,
  ...flags
}: PayFlags): Promise<void> =>
  withTerminal(flags, async (terminal) => {
    const token = cardToken === '-' ? (await readAll(process.stdin)).trim() : cardToken
    // A process that has just begun may need longer for its first request than a probe is given.
    if (!(await terminal.probe())) await terminal.probe()
    const decided = await terminal.pay({
      cardToken: token,
      amount,
      currency,
      customerId: customer,
      paymentMethod: method,
      transactionId: transaction,
    })
    const result = await uploaded(terminal, decided)
    print(result)
    if (!result.accepted) process.exitCode = EXIT_REFUSED
  })

const flush = (flags: SettingFlags): Promise<void> =>
  withTerminal(flags, async (terminal) => {
    const report = await terminal.flush()
    print(report)
    if (report.pending + report.rejected + report.conflicts > 0) process.exitCode = EXIT_REFUSED
  })

const status = (flags: SettingFlags): Promise<void> =>
  withTerminal(flags, async (terminal) => {
    await terminal.probe()
    print(terminal.status())
  })

interface RecoverFlags {
  state: string
  /** Transaction ids. */
  void?: string[]
}

const recover = async ({ state, void: takenBack }: RecoverFlags): Promise<void> => {
  const found = await recoverJournal(state, takenBack)
  if (!found) {
    console.log('The journal is intact. Nothing was changed.')
    return
  }
  console.log(
    `Kept ${found.records} records of ${found.frames} whole frames; ${found.lostBytes} bytes could not be read.`,
  )
  console.log(`The damaged journal is kept as ${found.damagedFile}.`)
  if (found.nullifiersLost) {
    console.log(
      'The list of used cards was lost, or may have been: offline, this terminal can no longer refuse them. The server still does.',
    )
  }
  if (found.paymentsLost) {
    console.log(
      'Payments may be among what could not be read: those not uploaded before are lost, and offline this terminal takes their cards again.',
    )
  }
  if (found.pending.length === 0) return
  console.log(
    'This waits, and is uploaded once the terminal is opened; what was taken back is among it where the record of that was lost:',
  )
  for (const { transactionId, amount, currency, timestamp } of found.pending)
    console.log(`  ${transactionId}  ${amount} ${currency}  ${new Date(timestamp).toISOString()}`)
  console.log(
    `Should one of these not be uploaded, first move ${found.damagedFile} to "journal" beside it, and recover again with --void and its id.`,
  )
}

const stateOption = new Option('--state <directory>', 'directory of the journal of this terminal')
  .env('ASSAY_TERMINAL_STATE')
  .default(DEFAULT_STATE)

/** A subcommand with the options that say which terminal it is. */
const terminalCommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .addOption(stateOption)
    .option('--url <url>', `address of the server (default: ${DEFAULT_URL})`)
    .addOption(
      new Option(
        '--api-key <key>',
        'API key that authenticates and keys the proofs; one that is stored precedes the variable',
      ).env('ASSAY_API_KEY'),
    )
    .option('--merchant <id>', 'merchant the payments are for (mer_…)')
    .option('--terminal-id <id>', 'id of this terminal (ter_…)')
    .addOption(new Option('--terminal-secret <secret>', 'its secret; likewise').env('ASSAY_TERMINAL_SECRET'))
    .option('--floor-limit <decimal|none>', 'largest payment that is accepted offline', amountLimit)
    .option('--stored-sum-limit <decimal|none>', 'largest total of payments waiting for upload', amountLimit)
    .hook('preAction', preferKept)

const terminal = new Command('terminal')
  .description('accept card payments, online or offline')
  .addCommand(terminalCommand('configure', 'store these settings in the state directory').action(configure))
  .addCommand(
    terminalCommand('pay', 'accept one payment; exit status 3 if it is refused')
      .requiredOption('--card-token <token>', 'token of this purchase; - reads it from standard input')
      .requiredOption('--amount <decimal>', 'such as 12.50', amount)
      .option('--currency <code>', 'ISO 4217 (default: GBP)')
      .option('--customer <id>', 'your name for the customer')
      .addOption(new Option('--method <method>', 'how the card was presented').choices([...PAYMENT_METHODS]))
      .option('--transaction <id>', 'your own transaction id')
      .action(pay),
  )
  .addCommand(
    terminalCommand('pending', 'list payments that wait for upload').action((flags: SettingFlags) =>
      withTerminal(flags, async (opened) => print(opened.pending())),
    ),
  )
  .addCommand(
    terminalCommand('flush', 'upload pending payments; exit status 3 if any is left or refused').action(
      flush,
    ),
  )
  .addCommand(terminalCommand('status', 'show the connection, pending and refused payments').action(status))
  .addCommand(
    new Command('recover')
      .description('replace a damaged journal by what can still be read of it')
      .addOption(stateOption)
      .option('--void <id...>', 'transaction ids of payments that were taken back, which are not uploaded')
      .action(recover),
  )

const serve = new Command('serve')
  .description('run the server until it is told to stop; settings are variables of the environment')
  .action(async () => {
    await import('./server.ts')
  })

const program = new Command('assay').description('Assay on the command line.').addCommand(serve)
for (const command of operationsCommands()) program.addCommand(command)

try {
  await program
    .addCommand(terminal)
    .addCommand(verifyProofCommand())
    .addCommand(signEnvelopeCommand())
    .addCommand(verifyEvidenceCommand())
    .addCommand(witnessCommand())
    .addCommand(monitorCommand())
    .addHelpText(
      'after',
      '\nExamples:\n  $ npx assay serve\n  $ npx assay doctor\n  $ npx assay backup backup.zip\n  $ npx assay terminal pay --card-token tok_1 --amount 12.50\n  $ npx assay verify-proof answer.json\n  $ npx assay verify-evidence --keys jwks.json evidence.zip\n  $ npx assay monitor https://assay.example --state monitor.json\n  $ npx assay sign-envelope --post http://127.0.0.1:8080 --name Ada --text Hello\n',
    )
    .parseAsync()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = EXIT_FAILED
}
