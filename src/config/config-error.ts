/** What is wrong with the environment. @module */

/** A variable, and what of its value breaks its rule; never a secret. */
export interface ConfigFault {
  readonly variable: string
  readonly rule: string
}

/** Variables break their rules. The message has a line for each, which names the variable and the rule. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly ConfigFault[]
  constructor(...faults: ConfigFault[]) {
    super(faults.map(({ variable, rule }) => `${variable} ${rule}`).join('\n'))
    this.faults = faults
  }
}
