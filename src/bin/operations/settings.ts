/** What this program is, and how it is set up. @module */
import { configFaults } from '../../config/config.ts'
import { type EffectiveSetting, effectiveSettings } from '../../config/effective-settings.ts'
import { SERVICE_VERSION } from '../../domain/system/service.ts'
import { SCHEMA_VERSION } from '../../store/migrate.ts'

export const printVersion = (): void => {
  console.log(`assay ${SERVICE_VERSION}`)
  console.log(`schema ${SCHEMA_VERSION}`)
  console.log(`node ${process.version}`)
}

const asText = (settings: readonly EffectiveSetting[]): string =>
  settings
    .map(({ variable, value, isSet }) =>
      isSet ? `${variable}=${value}` : `# ${variable}: ${value || 'unset'}`,
    )
    .join('\n')

/** What is set stands as `NAME=value`; defaults are comments. Exit status 1 where a server would not start with them. */
export const printConfig = ({ json }: { readonly json?: true }): void => {
  const settings = effectiveSettings(process.env)
  const faults = configFaults(process.env)
  console.log(json ? JSON.stringify({ settings, faults }, null, 2) : asText(settings))
  for (const { variable, rule } of faults) console.error(`${variable} ${rule}`)
  if (faults.length > 0) process.exitCode = 1
}
