/**
 * The subcommands of whoever runs the service, without what does their work: that is loaded when it is used. All of them read the
 * settings of the server: run them with its environment.
 * @module
 */
import { Command } from 'commander'

const SETTINGS_HELP = '\nIt reads the same variables of the environment as the server (npx assay config).\n'

const versionCommand = (): Command =>
  new Command('version')
    .description('print the versions of the service, its schema and Node')
    .action(async () => (await import('./settings.ts')).printVersion())

const configCommand = (): Command =>
  new Command('config')
    .description('print the settings in effect, without secrets; exit status 1 if a server refuses one')
    .option('--json', 'print them as JSON')
    .action(async (flags: { json?: true }) => (await import('./settings.ts')).printConfig(flags))

const migrateCommand = (): Command =>
  new Command('migrate')
    .description('bring the schema of the database up to date; for MIGRATE=off')
    .addHelpText('after', SETTINGS_HELP)
    .action(async () => (await import('./migrate.ts')).runMigrations())

const ROTATE_HELP = `
The new key is NEW_MASTER_KEY, or what --new-key-file holds. Where DATA_DIR keeps the key, a new one is made and kept there. On
PostgreSQL, servers run on meanwhile; on the embedded database the server is stopped first. A call that was cut short is
finished by running it again. Backups from before open with the key of their time alone: keep that as long as you keep them.

If MASTER_KEY leaked, with PostgreSQL: change it, restart every server with the new one, then seal everything anew without a handover. With
one, servers needn't be restarted first, but whoever has the old key and sees the database meanwhile has the new key as well.

Examples:
  $ npx assay rotate-master-key
  $ NEW_MASTER_KEY=$(cat new.key) npx assay rotate-master-key
  $ npx assay rotate-master-key --reseal --keep-key --no-handover
${SETTINGS_HELP}`

const rotateMasterKeyCommand = (): Command =>
  new Command('rotate-master-key')
    .description('seal the keys of the database under another MASTER_KEY')
    .option('--new-key-file <file>', 'file that holds the new key: 32 bytes in hex')
    .option('--reseal', 'add a key and seal everything anew under it, for a MASTER_KEY that leaked')
    .option('--keep-key', 'with --reseal, and no new key: stay with the present MASTER_KEY')
    .option('--no-handover', 'with both: every server was restarted with the present MASTER_KEY')
    .addHelpText('after', ROTATE_HELP)
    .action(async (flags) => (await import('./rotate-master-key.ts')).rotateMasterKey(flags))

const ROTATE_KEYS_HELP = `
New keys are published at once, and sign six minutes later, when nobody keeps a key set without them any more; those that they replace
stay published for what they signed. A key that leaked ends at once instead: it is published no longer, and neither the service nor
whoever reads its key set anew accepts anything that it signed. Its successor signs at once. The ids (kid) stand in /.well-known/jwks.json,
jwks-pq.json and issuer-keys; "all" are all of them. The keys of the log, by which witnesses and monitors know it, are left as they are.

On PostgreSQL, servers run on meanwhile; on the embedded database the server is stopped first. The log has an entry of it.

Examples:
  $ npx assay rotate-keys
  $ npx assay rotate-keys --leaked 1f2Rk0Vt --leaked kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k
${SETTINGS_HELP}`

const rotateKeysCommand = (): Command =>
  new Command('rotate-keys')
    .description("replace the service's own keys: those that sign, and the issuer's")
    .option(
      '--leaked <kid>',
      'end this key at once, or all; may be given several times',
      (kid: string, others: readonly string[] = []) => [...others, kid],
    )
    .addHelpText('after', ROTATE_KEYS_HELP)
    .action(async (flags) => (await import('./rotate-keys.ts')).rotateKeys(flags))

const DOCTOR_HELP = `
It changes nothing. Each line is ok, a warning or an error, with what to do; exit status 1 if there is an error. The embedded database
can only be looked into while its server is stopped.
${SETTINGS_HELP}`

const doctorCommand = (): Command =>
  new Command('doctor')
    .description('examine settings, disk, database, schema, key, log, clock and Redis')
    .option('--full', 'recompute the hashes of all entries of the log')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', DOCTOR_HELP)
    .action(async (flags) => (await import('./doctor.ts')).examineService(flags))

const BACKUP_HELP = `
It asks the server that runs, with ADMIN_API_KEY or DATA_DIR/admin.key, and checks what it got. The archive holds no key:
keep master.key elsewhere. Servers on PostgreSQL are backed up with pg_dump or WAL archiving (docs/operations.md).

Examples:
  $ npx assay backup backup.zip
${SETTINGS_HELP}`

const backupCommand = (): Command =>
  new Command('backup')
    .description('back up the embedded database of the running server')
    .argument('<file>', 'the archive to make')
    .option('--url <url>', 'address of the server (default: http://HOST:PORT)')
    .addHelpText('after', BACKUP_HELP)
    .action(async (file, flags) => (await import('./backup.ts')).backUp(file, flags))

const RESTORE_HELP = `
A copy does not know what the log signed after it was made, and would fork the log if it went on by itself. So no server starts on a
restored database before it was shown the newest checkpoint that anybody has of the log (--checkpoint), and has everything that is
under it; or a new log begins (--new-log), whose first entry holds the last known checkpoint. FILE comes before --checkpoint, which takes
all names behind it. Without FILE it is about the database that is there already, such as one of PostgreSQL that was restored with
pg_restore. MASTER_KEY and BASE_URL are those of the server that was backed up.

Examples:
  $ npx assay restore backup.zip --checkpoint checkpoint.txt
  $ DATABASE_URL=postgres://… npx assay restore --checkpoint checkpoint.txt
${SETTINGS_HELP}`

const restoreCommand = (): Command =>
  new Command('restore')
    .description('restore a backup, and say that the log may go on')
    .argument('[file]', 'a backup; it is unpacked into an empty DATA_DIR')
    .option(
      '--checkpoint <file...>',
      'the newest checkpoint of each log, as /checkpoint and /log/{log}/checkpoint served them',
    )
    .option('--new-log', 'start a new log, under a new name')
    .addHelpText('after', RESTORE_HELP)
    .action(async (file, flags) => (await import('./restore.ts')).restore(file, flags))

/** What runs the service, and keeps it running. */
export const operationsCommands = (): readonly Command[] => [
  doctorCommand(),
  migrateCommand(),
  backupCommand(),
  restoreCommand(),
  rotateMasterKeyCommand(),
  rotateKeysCommand(),
  configCommand(),
  versionCommand(),
]
